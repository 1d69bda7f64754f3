import { hash } from "node:crypto";
import { deepStrictEqual as deq, match, strictEqual as eq } from "node:assert/strict";
import { systemTree } from "../../core/cli/agent/tree.ts";
import {
  type ProgramMarker,
  programPath,
  readMarker,
  type StoredProgram,
  writeMarker,
} from "../../core/cli/agent/upgrade/marker.ts";
import { openUpgrades } from "../../core/cli/agent/upgrade/receive.ts";
import { startStored } from "../../core/cli/agent/upgrade/process.ts";
import { superviseAgent } from "../../core/cli/agent/upgrade/supervise.ts";
import type { TransferReply } from "../../core/protocol/transfers.ts";
import type { ProgramForm, UpgradeFrame } from "../../core/protocol/upgrades.ts";
import {
  privateKeyOf,
  rawPublicKey,
  signText,
  upgradeText,
} from "../../core/protocol/statements.ts";
import { ManualClock } from "../support/clock.ts";
import { withFolder } from "../support/processes.ts";

const KEY = privateKeyOf(new Uint8Array(32).fill(1));
const LINK = { agentId: "agt_1", nonce: "n".repeat(24) };
const WELCOME = {
  type: "welcome" as const,
  agent_id: LINK.agentId,
  name: "web-1",
  heartbeat_seconds: 30,
  relay_version: "0.2.0",
  time_ms: 1_000,
  verdict_key: rawPublicKey(KEY),
  signature: "",
};
const PROGRAM = "console.log('new');\n";
const RIGHT = {
  type: "upgrade" as const,
  serial: 1,
  expires_at_ms: 60_000,
  job_id: "upj_1",
  version: "0.2.0",
  platform: "any",
  sha256: hash("sha256", PROGRAM),
  bytes: PROGRAM.length,
};
const sign = (order: typeof RIGHT): UpgradeFrame => ({
  ...order,
  signature: signText(KEY, upgradeText(LINK, order)),
});

/** The agent's end of upgrades over a folder, and what it sent. */
function receiver(stateDir: string, form: ProgramForm = "bundle", tree = systemTree) {
  const sent: TransferReply[] = [];
  const logged: string[] = [];
  let switched = 0;
  const write = (line: string) => void logged.push(line);
  const upgrades = openUpgrades({
    stateDir,
    tree,
    log: { info: write, warn: write, error: write },
    machine: { version: "0.1.0", platform: "linux-x86_64", form, hostname: "box" },
    jobId: null,
    switchOver: () => void switched++,
  });
  const send = (frame: TransferReply) => void sent.push(frame);
  const link = { welcome: WELCOME, nonce: LINK.nonce, relayNow: () => 1_000, send };
  return {
    upgrades,
    sent,
    switched: () => switched,
    begin: (order: UpgradeFrame, more: Partial<typeof link> = {}) =>
      upgrades.begin(order, { ...link, ...more }),
    piece: (text: string, offset = 0, job_id = RIGHT.job_id) =>
      upgrades.receive({ type: "transfer_data", job_id, offset, data: btoa(text) }),
  };
}

const filesOf = (stateDir: string) => systemTree.list(stateDir);

Deno.test("openUpgrades: a signed program is written, checked and named in the marker before the agent switches", async () => {
  await withFolder(async (stateDir) => {
    const { begin, piece, sent, switched } = receiver(stateDir);
    eq(begin(sign(RIGHT)), null);
    piece(PROGRAM.slice(0, 7));
    piece("late", 0);
    eq(piece("for a restore", 0, "rst_1"), false);
    eq(switched(), 0);
    piece(PROGRAM.slice(7), 7);
    eq(switched(), 1);
    deq(sent.map((frame) => [frame.type, "offset" in frame ? frame.offset : null]), [
      ["transfer_want", 0],
      ["transfer_want", 7],
      ["upgrade_ready", null],
    ]);
    const { job_id, version, sha256 } = RIGHT;
    const candidate = { job_id, version, sha256, form: "bundle" as const, started: false };
    deq(readMarker({ stateDir, tree: systemTree }), { trusted: null, candidate, failed: null });
    eq(Deno.readTextFileSync(programPath({ stateDir }, candidate)), PROGRAM);
  });
});

Deno.test("openUpgrades: an order with any changed field, a replay or a late one ends the link, and writes nothing", async () => {
  await withFolder(async (stateDir) => {
    const right = sign(RIGHT);
    const changes: Partial<UpgradeFrame>[] = [
      { serial: 2 },
      { expires_at_ms: 60_001 },
      { job_id: "upj_2" },
      { version: "0.2.1" },
      { platform: "linux-x86_64" },
      { sha256: "0".repeat(64) },
      { bytes: 3 },
      { signature: "" },
      { signature: right.signature.replace(/./, (first) => first === "A" ? "B" : "A") },
    ];
    for (const change of changes) {
      const { begin, sent } = receiver(stateDir);
      match(begin({ ...right, ...change })!, /not signed by the relay for this agent/);
      deq(sent, []);
    }
    const { begin, sent } = receiver(stateDir);
    match(begin(right, { nonce: "m".repeat(24) })!, /not signed/);
    match(begin(right, { welcome: { ...WELCOME, agent_id: "agt_2" } })!, /not signed/);
    match(begin(right, { relayNow: () => 60_000 })!, /expired/);
    match(begin(right)!, /ordered before/);
    deq(sent, []);
    deq(filesOf(stateDir), []);
  });
});

Deno.test("openUpgrades: a program that this agent cannot take is refused with the reason, and nothing changes", async () => {
  await withFolder(async (stateDir) => {
    const refusalOf = (change: Partial<typeof RIGHT>, form?: ProgramForm) => {
      const { begin, sent, switched } = receiver(stateDir, form);
      eq(begin(sign({ ...RIGHT, ...change })), null);
      eq(switched(), 0);
      const [reply] = sent;
      return reply?.type === "transfer_failed" ? reply.message : reply?.type;
    };
    match(refusalOf({}, "source")!, /installed from source: update its checkout/);
    match(refusalOf({}, "executable")!, /for any, and this agent needs linux-x86_64/);
    match(refusalOf({ platform: "darwin-aarch64" })!, /this agent needs any/);
    for (const version of ["0.1.0", "0.0.9", "0.1.0-rc.1"]) {
      match(refusalOf({ version })!, /is not newer/);
    }
    deq(filesOf(stateDir), []);
  });
});

Deno.test("openUpgrades: bytes that do not match the digest, pieces that do not fit, and lost links leave nothing", async () => {
  await withFolder(async (stateDir) => {
    const spoiled = receiver(stateDir);
    spoiled.begin(sign(RIGHT));
    spoiled.piece(PROGRAM.toUpperCase());
    const long = receiver(stateDir);
    long.begin(sign(RIGHT));
    long.piece(`${PROGRAM} `);
    const lost = receiver(stateDir);
    lost.begin(sign(RIGHT));
    lost.upgrades.detach();
    eq(lost.piece(PROGRAM), false);
    const ends = [spoiled, long, lost].map(({ sent, switched }) => {
      const last = sent.at(-1)!;
      return [last.type === "transfer_failed" ? last.message : last.type, switched()];
    });
    deq(ends, [["it does not match its digest", 0], ["a piece does not fit", 0], [
      "transfer_want",
      0,
    ]]);
    deq(filesOf(stateDir), []);
  });
});

Deno.test("openUpgrades: a program whose marker does not fit on the disk is removed", async () => {
  await withFolder(async (stateDir) => {
    const write = () => {
      throw new Error("no space left on the device");
    };
    const full = receiver(stateDir, "bundle", { ...systemTree, write });
    full.begin(sign(RIGHT));
    full.piece(PROGRAM);
    const last = full.sent.at(-1)!;
    eq(last.type === "transfer_failed" && last.message, "no space left on the device");
    deq([full.switched(), filesOf(stateDir)], [0, []]);
  });
});

/** A supervisor over a folder, with processes that the test ends. */
function supervisor(stateDir: string, version = "0.1.0") {
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

/** Puts a program into the folder. */
function put(stateDir: string, version: string, job_id = `upj_${version}`): StoredProgram {
  const program: StoredProgram = {
    job_id,
    version,
    sha256: hash("sha256", version),
    form: "bundle",
  };
  Deno.writeTextFileSync(programPath({ stateDir }, program), version);
  return program;
}

const mark = (stateDir: string, marker: Partial<ProgramMarker>) =>
  writeMarker({ stateDir, tree: systemTree }, {
    trusted: null,
    candidate: null,
    failed: null,
    ...marker,
  });

/** What `confirm` of a running candidate writes. */
function confirm(stateDir: string): void {
  const { candidate } = readMarker({ stateDir, tree: systemTree });
  const { started: _, ...trusted } = candidate!;
  mark(stateDir, { trusted });
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
    const trusted = put(stateDir, "0.2.0");
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
      deq(rest, { trusted, candidate: null });
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
    const [old, fresh] = [put(stateDir, "0.2.0"), put(stateDir, "0.3.0")];
    starts.push([{ trusted: old, candidate: { ...fresh, started: false } }, "0.3.0"]);
    starts.push([{ trusted: old, candidate: { ...fresh, started: true } }, "0.2.0"]);
    starts.push([{ trusted: null, candidate: { ...fresh, started: true } }, "installed"]);
    starts.push([{ trusted: { ...old, sha256: hash("sha256", "damaged") } }, "installed"]);
    for (const [marker, expected] of starts) {
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
    for (const marker of [{ trusted: stored }, { candidate: { ...stored, started: false } }]) {
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

Deno.test("startStored: a bundle gets the arguments, the agent's own variables and the credential of standard input", async () => {
  await withFolder(async (stateDir) => {
    const text = `
      const line = new Uint8Array(64);
      const n = Deno.stdin.readSync(line);
      const { RELAY_TOKEN, RELAY_AGENT_UPGRADE } = Deno.env.toObject();
      const got = [Deno.args, RELAY_TOKEN, RELAY_AGENT_UPGRADE, new TextDecoder().decode(line.subarray(0, n))];
      Deno.writeTextFileSync(Deno.args[1], JSON.stringify(got));
      Deno.exit(Deno.stdin.readSync(line) === null ? 1 : 5);`;
    const program = { ...put(stateDir, "0.2.0"), sha256: hash("sha256", text) };
    Deno.writeTextFileSync(programPath({ stateDir }, program), text);
    const out = `${stateDir}/got.json`;
    const invocation = { args: [out], environment: { RELAY_TOKEN: "svc_1" }, stdin: "svc_2" };
    const child = startStored({ stateDir, tree: systemTree }, program, invocation);
    // It reads on as long as this process lives.
    while (systemTree.look(out) === null) await new Promise((resolve) => setTimeout(resolve, 20));
    child.stop();
    eq(await child.ended, 143);
    deq(JSON.parse(Deno.readTextFileSync(out)), [
      ["agent", out],
      "svc_1",
      program.job_id,
      "svc_2\n",
    ]);
  });
});
