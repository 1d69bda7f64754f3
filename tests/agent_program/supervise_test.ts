import { hash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { deepStrictEqual as deq, match, strictEqual as eq } from "node:assert/strict";
import { systemTree } from "../../core/cli/agent/tree.ts";
import {
  type ProgramMarker,
  programPath,
  readMarker,
  type StoredProgram,
} from "../../core/cli/agent/upgrade/marker.ts";
import { superviseAgent } from "../../core/cli/agent/upgrade/supervise.ts";
import type { ProgramForm } from "../../core/protocol/upgrades.ts";
import { ManualClock } from "../support/clock.ts";
import { withFolder } from "../support/processes.ts";
import { filesOf, mark, put } from "./stored_programs.ts";

/** A supervisor over a folder, with processes that the test ends. */
function supervisor(stateDir: string, version = "0.1.0", form: ProgramForm = "bundle") {
  const store = { stateDir, tree: systemTree };
  const clock = new ManualClock();
  const stop = new AbortController();
  const ran: string[] = [];
  const waiting: ((name: string) => void)[] = [];
  let end: (code: number) => void = () => {};
  const run = (name: string): Promise<number> => {
    ran.push(name);
    const { promise, resolve } = Promise.withResolvers<number>();
    end = resolve;
    waiting.shift()?.(name);
    return promise;
  };
  const write = () => {};
  const code = superviseAgent({
    ...store,
    clock,
    log: { info: write, warn: write, error: write },
    version,
    form,
    signal: stop.signal,
    runInstalled: () => run("installed"),
    start(program) {
      const ended = run(program.version);
      return { ended, stop: () => end(0), kill: () => end(137) };
    },
  });
  return {
    store,
    clock,
    code,
    stop,
    ran,
    end: (code: number) => end(code),
    marker: () => readMarker(store),
    /** The next program that runs. */
    next: () => new Promise<string>((resolve) => waiting.push(resolve)),
    /** The first program that runs. */
    first: (): Promise<string> =>
      ran.length > 0 ? Promise.resolve(ran[0]!) : new Promise((resolve) => waiting.push(resolve)),
  };
}

/** What `attempted` of a running trusted program writes. */
function attempted(stateDir: string): void {
  const marker = readMarker({ stateDir, tree: systemTree });
  mark(stateDir, { ...marker, trusted: { ...marker.trusted!, ran: true } });
}

/** What `confirm` of a running candidate writes. */
function confirm(stateDir: string): void {
  const { candidate } = readMarker({ stateDir, tree: systemTree });
  const { started: _, ...trusted } = candidate!;
  mark(stateDir, { trusted: { ...trusted, ran: true } });
}

Deno.test("superviseAgent: a welcomed program runs from then on, through restarts and new starts", async () => {
  await withFolder(async (stateDir) => {
    const first = supervisor(stateDir);
    mark(stateDir, { candidate: { ...put(stateDir, "0.2.0"), started: false } });
    const trial = first.next();
    first.end(76);
    eq(await trial, "0.2.0");
    eq(first.marker().candidate?.started, true);
    confirm(stateDir);
    await first.clock.advance(3_600_000);
    const restarted = first.next();
    first.end(75);
    eq(await restarted, "0.2.0");
    attempted(stateDir);
    first.end(1);
    eq(await first.code, 1);
    const again = supervisor(stateDir);
    deq([...first.ran, ...again.ran], ["installed", "0.2.0", "0.2.0", "0.2.0"]);
    again.stop.abort();
    eq(await again.code, 0);
  });
});

Deno.test("superviseAgent: a program that crashes, hangs or cannot start is given up for the one before", async () => {
  await withFolder(async (stateDir) => {
    const trusted = { ...put(stateDir, "0.2.0"), ran: true };
    mark(stateDir, { trusted });
    const agent = supervisor(stateDir);
    const upgrade = async () => {
      const candidate = { ...put(stateDir, "0.3.0"), started: false };
      mark(stateDir, { trusted, candidate });
      const trial = agent.next();
      agent.end(76);
      eq(await trial, "0.3.0");
    };
    const failure = async (cause: () => void | Promise<void>) => {
      const back = agent.next();
      await cause();
      eq(await back, "0.2.0");
      const { failed, ...rest } = agent.marker();
      deq(rest, { trusted: { ...trusted, ran: false }, candidate: null });
      deq(filesOf(stateDir).filter((name) => name.endsWith(".js")).length, 1);
      return failed?.message ?? "";
    };
    await upgrade();
    match(await failure(() => agent.end(3)), /exit code 3 before the relay had welcomed it/);
    await upgrade();
    match(await failure(() => agent.clock.advance(60_000)), /did not welcome it within 60 s/);
    match(
      await failure(() => {
        const candidate = { ...put(stateDir, "0.3.0"), started: false };
        Deno.writeTextFileSync(programPath({ stateDir }, candidate), "damaged");
        mark(stateDir, { trusted, candidate });
        agent.end(76);
      }),
      /its file is damaged/,
    );
    agent.stop.abort();
    eq(await agent.code, 0);
  });
});

Deno.test("superviseAgent: after a power cut the marker decides: an untried program is tried, a tried one is not", async () => {
  const starts: [Partial<ProgramMarker>, string][] = [];
  await withFolder(async (stateDir) => {
    const old = { ...put(stateDir, "0.2.0"), ran: true };
    const fresh = put(stateDir, "0.3.0");
    starts.push([{ trusted: old, candidate: { ...fresh, started: false } }, "0.3.0"]);
    starts.push([{ trusted: old, candidate: { ...fresh, started: true } }, "0.2.0"]);
    starts.push([{ trusted: null, candidate: { ...fresh, started: true } }, "installed"]);
    starts.push([{ trusted: { ...old, sha256: hash("sha256", "damaged") } }, "installed"]);
    for (const [marker, expected] of starts) {
      put(stateDir, "0.2.0");
      put(stateDir, "0.3.0");
      mark(stateDir, marker);
      const agent = supervisor(stateDir);
      eq(await agent.first(), expected);
      agent.stop.abort();
      agent.end(0);
      await agent.code;
    }
    Deno.writeTextFileSync(`${stateDir}/program.json`, "half a mark");
    eq(await supervisor(stateDir).first(), "installed");
  });
});

Deno.test("superviseAgent: an installed program that is as new replaces a stored one", async () => {
  await withFolder(async (stateDir) => {
    const stored = put(stateDir, "0.2.0");
    for (
      const marker of [{ trusted: { ...stored, ran: true } }, {
        candidate: { ...stored, started: false },
      }]
    ) {
      put(stateDir, "0.2.0");
      mark(stateDir, marker);
      const agent = supervisor(stateDir, "0.2.0");
      eq(await agent.first(), "installed");
      deq(agent.marker(), { trusted: null, candidate: null, failed: null });
      deq(filesOf(stateDir), ["program.json"]);
      agent.end(0);
      eq(await agent.code, 0);
    }
  });
});

/** A supervisor whose installed program runs over a trusted one, and a trusted one of this version in its folder. */
const withTrusted = (task: (stateDir: string, trusted: StoredProgram) => Promise<void>) =>
  withFolder(async (stateDir) => {
    const trusted = put(stateDir, "0.2.0");
    mark(stateDir, { trusted: { ...trusted, ran: true } });
    await task(stateDir, trusted);
  });

/** Ends the program at once, and lets the time pass after which the next one starts. */
async function endQuickly(agent: ReturnType<typeof supervisor>, code: number): Promise<string> {
  const next = agent.next();
  agent.end(code);
  await setImmediate();
  agent.clock.advance(5_000);
  return await next;
}

Deno.test("superviseAgent: a trusted program that fails to start 3 times in a row gives way to the installed one", async () => {
  await withTrusted(async (stateDir, { job_id }) => {
    const agent = supervisor(stateDir);
    eq(await endQuickly(agent, 1), "0.2.0");
    eq(await endQuickly(agent, 1), "0.2.0");
    eq(await endQuickly(agent, 70), "installed");
    const message =
      "it failed to start 3 times in a row: it ended with exit code 70 before it had " +
      "tried to reach the relay";
    deq(agent.marker(), { trusted: null, candidate: null, failed: { job_id, message } });
    deq(filesOf(stateDir), ["program.json"]);
    // A new order is tried, and judged on its own.
    mark(stateDir, { candidate: { ...put(stateDir, "0.2.0"), started: false } });
    const trial = agent.next();
    agent.end(76);
    eq(await trial, "0.2.0");
    confirm(stateDir);
    const restarted = agent.next();
    agent.end(75);
    eq(await restarted, "0.2.0");
    eq(await endQuickly(agent, 1), "0.2.0");
    agent.stop.abort();
    agent.end(0);
    eq(await agent.code, 0);
  });
});

Deno.test("superviseAgent: ends of a program that could not reach the relay, was linked, or ran long are no failed starts", async () => {
  await withTrusted(async (stateDir) => {
    const ends: ((agent: ReturnType<typeof supervisor>) => void)[] = [
      () => attempted(stateDir),
      () => attempted(stateDir),
      ({ clock }) => clock.advance(60_000),
      () => attempted(stateDir),
    ];
    for (const before of ends) {
      // As a service manager starts it again.
      const agent = supervisor(stateDir);
      eq(await agent.first(), "0.2.0");
      before(agent);
      agent.end(137);
      eq(await agent.code, 137);
    }
    const agent = supervisor(stateDir);
    eq(await endQuickly(agent, 1), "0.2.0");
    eq(await endQuickly(agent, 1), "0.2.0");
    attempted(stateDir);
    const restarted = agent.next();
    agent.end(75);
    eq(await restarted, "0.2.0");
    eq(await endQuickly(agent, 1), "0.2.0");
    eq(agent.marker().failed, null);
    // A stop is none either, even of a program that does not yet handle the signal.
    agent.end(143);
    agent.stop.abort();
    eq(await agent.code, 143);
    eq(agent.marker().trusted?.version, "0.2.0");
  });
});

Deno.test("superviseAgent: an executable gives a trusted bundle up, which it cannot run", async () => {
  await withTrusted(async (stateDir, { job_id }) => {
    const agent = supervisor(stateDir, "0.1.0", "executable");
    eq(await agent.first(), "installed");
    deq(agent.marker().failed, {
      job_id,
      message: "it is a bundle, and the installed program is a compiled executable",
    });
    agent.end(0);
    eq(await agent.code, 0);
  });
});

Deno.test("superviseAgent: at its start, programs that the marker does not name are removed", async () => {
  await withFolder(async (stateDir) => {
    const [trusted, candidate] = [put(stateDir, "0.2.0"), put(stateDir, "0.3.0")];
    const kept = [trusted, candidate].map((program) => programPath({ stateDir }, program));
    const others = ["program.json", "program-notes.txt", "journal"].map((n) => `${stateDir}/${n}`);
    const left = [
      programPath({ stateDir }, put(stateDir, "0.1.5")),
      `${stateDir}/program-0123456789abcdef`,
      `${stateDir}/program.new`,
    ];
    for (const path of [...others.slice(1), ...left]) Deno.writeTextFileSync(path, "left");
    mark(stateDir, {
      trusted: { ...trusted, ran: true },
      candidate: { ...candidate, started: false },
    });
    const agent = supervisor(stateDir);
    eq(await agent.first(), "0.3.0");
    deq(filesOf(stateDir).map((name) => `${stateDir}/${name}`), [...kept, ...others].sort());
    agent.stop.abort();
    agent.end(0);
    await agent.code;
    // A marker that cannot be read names nothing: the programs stay.
    Deno.writeTextFileSync(`${stateDir}/program.json`, "half a mark");
    const damaged = supervisor(stateDir);
    eq(await damaged.first(), "installed");
    eq(filesOf(stateDir).includes(kept[0]!.slice(stateDir.length + 1)), true);
    damaged.end(0);
    await damaged.code;
  });
});
