import { deepStrictEqual as deq, match, strictEqual as eq } from "node:assert/strict";
import type { CommandOrder } from "../../../core/protocol/protocol.ts";
import { finish, runsOf } from "../../support/linked_agent.ts";
import { World } from "../../support/world.ts";
import { finishAll, makeFleet, sent, silent } from "../../agents/commands/fleet_fixtures.ts";
import { type terminal, withTerminal } from "./terminal.ts";

type Run = ReturnType<typeof terminal>["run"];

const isCancel = ({ type }: { readonly type: string }): boolean => type === "cancel";

/** Lets the wait of the first request pass. */
async function passFirstWait(world: World): Promise<void> {
  await world.settle();
  await world.advance(1_000);
}

/** Runs a command on all agents, and lets the wait of its first request pass. */
async function onAll(
  world: World,
  run: Run,
  options: Parameters<Run>[1],
  words: readonly string[],
) {
  const printed = run(["exec", "--all", ...words], options);
  await passFirstWait(world);
  return await printed;
}

Deno.test("relay exec --all: Ctrl-C cancels those that run and those that wait, and exits with 130", async () => {
  await using world = await World.open();
  const { owner, agents } = await makeFleet(world, 3);
  silent(agents);
  await withTerminal(world, async ({ run }) => {
    let interrupt = () => {};
    const printed = await onAll(world, run, {
      env: { RELAY_TOKEN: owner.token },
      onInterrupt: (end) => interrupt = end,
      async sleep(ms) {
        interrupt();
        await world.advance(ms);
        for (const agent of agents.filter(({ received }) => received.some(isCancel))) {
          for (const { command_id } of runsOf(agent)) {
            const ended = { reason: "cancelled", exit_code: null, signal: "SIGTERM" } as const;
            finish(agent, command_id, ended);
          }
        }
        await world.settle();
      },
    }, ["--parallel", "1", "--", "sleep 600"]);
    eq(printed.code, 130);
    match(printed.err, /^Cancelling …\n/);
    match(printed.err, /\n3 agents: 3 cancelled\.\n$/);
    eq(sent(agents).reduce((sum, n) => sum + n, 0), 1);
  });
});

Deno.test("relay exec --all: when nobody reads the output any more, what runs and waits is cancelled", async () => {
  await using world = await World.open();
  const { owner, agents } = await makeFleet(world, 3);
  silent(agents);
  agents[0]!.script = () => ({ stdout: "a\n" });
  await withTerminal(world, async ({ run }) => {
    const { code } = await onAll(world, run, {
      env: { RELAY_TOKEN: owner.token },
      sawOut() {
        throw new Deno.errors.BrokenPipe("no reader");
      },
    }, ["--", "uptime"]);
    await world.settle();
    eq(code, 141);
    deq(agents.map(({ received }) => received.some(isCancel)), [false, true, true]);
  });
});

Deno.test("relay exec --all: prints each result as it comes, and the lines of both streams behind the name", async () => {
  await using world = await World.open();
  const { owner, agents } = await makeFleet(world, 3);
  silent(agents);
  agents[0]!.script = () => ({ stdout: "a\nb\n", stderr: "c" });
  agents[1]!.script = () => ({ stdout: `${"x".repeat(9_000)}\n` });
  await withTerminal(world, async ({ run }) => {
    let waits = 0;
    const { code, out, err } = await onAll(world, run, {
      env: { RELAY_TOKEN: owner.token },
      async sleep(ms) {
        await world.advance(ms);
        if (++waits === 2) finishAll(agents[2]!, 4);
        await world.settle();
      },
    }, ["--", "uptime"]);
    deq(out.split("\n"), ["web-01: a", "web-01: b", `web-02: ${"x".repeat(9_000)}`, ""]);
    deq(err.split("\n"), [
      "web-01: c",
      "web-03: failed, exit code 4",
      "3 agents: 2 succeeded, 1 failed.",
      "",
    ]);
    eq(code, 1);
    const paths: string[] = [];
    const quiet = await onAll(world, run, {
      env: { RELAY_TOKEN: owner.token },
      through: (send) => (url, init) => {
        paths.push(new URL(url as string).pathname);
        return send(url, init);
      },
      async sleep(ms) {
        await world.advance(ms);
        finishAll(agents[2]!);
        await world.settle();
      },
    }, ["-q", "--", "uptime"]);
    match(quiet.out, /^flt_\w+\n$/);
    deq(paths.filter((path) => path.includes("/agents/")), []);
  });
});

Deno.test("relay exec --all: tells who may approve, and waits only if asked to", async () => {
  await using world = await World.open();
  const { owner, agents } = await makeFleet(world, 2);
  const colleague = await world.join(owner, ["admin"]);
  const env = { RELAY_TOKEN: owner.token };
  const words = ["--", "systemctl stop nginx"];
  await withTerminal(world, async ({ run }) => {
    const left = await onAll(world, run, { env }, words);
    eq(left.code, 126);
    match(
      left.err,
      /^Held for approval on 2 of 2 agents\.\nA person with .* may decide: relay approvals approve prc_\w+\n/,
    );
    deq(sent(agents), [0, 0]);
    const [, pid = ""] = /approve (prc_\w+)/.exec(left.err)!;
    const shown = await run(["approvals", "show", pid], { env });
    match(shown.out, /\nagent +2 agents\nagents +web-01, web-02\n/);
    let [waits, id] = [0, ""];
    const { code, out } = await onAll(world, run, {
      env,
      saw: (text) => id ||= /approve (prc_\w+)/.exec(text)?.[1] ?? "",
      async sleep(ms) {
        await world.advance(ms);
        if (++waits !== 2) return;
        const approving = { env: { RELAY_TOKEN: colleague.token } };
        eq((await run(["approvals", "approve", id], approving)).code, 0);
        await world.settle();
      },
    }, ["--wait", ...words]);
    deq([code, out], [0, "web-01: done\nweb-02: done\n"]);
    deq(sent(agents), [1, 1]);
  });
});

Deno.test("relay exec --all: lines of running commands are printed as they come, each once, and the rest at the end", async () => {
  await using world = await World.open();
  const { owner, agents } = await makeFleet(world, 2);
  silent(agents);
  await withTerminal(world, async ({ run }) => {
    let [out, waits] = ["", 0];
    let saw = Promise.withResolvers<void>();
    const write = (stream: "stdout" | "stderr", data: string) => {
      const [{ command_id }] = runsOf(agents[0]!) as [CommandOrder];
      agents[0]!.send({ type: "output", command_id, stream, data });
    };
    /** Lets the pause between two pieces for another instance pass. */
    const passPause = async () => {
      await world.settle();
      await world.advance(50);
      await saw.promise;
    };
    const printed = await onAll(world, run, {
      env: { RELAY_TOKEN: owner.token },
      sawOut(text) {
        out += text;
        saw.resolve();
      },
      async sleep(ms) {
        if (++waits === 1) {
          write("stdout", "one\ntw");
          await passPause();
          eq(out, "web-01: one\n");
          saw = Promise.withResolvers();
          write("stderr", "wrong");
          write("stdout", "o\nthr\u001b[2K\tee");
          await passPause();
          eq(out, "web-01: one\nweb-01: two\n");
          agents.forEach((agent) => finishAll(agent));
        }
        await world.advance(ms);
        await world.settle();
      },
    }, ["--", "make"]);
    deq(printed, {
      code: 0,
      out: "web-01: one\nweb-01: two\nweb-01: thr\ufffd[2K\tee\n",
      err: "web-01: wrong\n2 agents: 2 succeeded.\n",
    });
  });
});

Deno.test("relay exec --all: reads what has ended since the last end, however many ended before", async () => {
  await using world = await World.open();
  const { owner, agents } = await makeFleet(world, 5);
  silent(agents);
  await withTerminal(world, async ({ run }) => {
    const reads: number[] = [];
    const waiting = [...agents];
    const { code, out } = await onAll(world, run, {
      env: { RELAY_TOKEN: owner.token },
      through: (send) => async (url, init) => {
        const answer = await send(url, init);
        if (!String(url).includes("output=true")) return answer;
        const text = await answer.text();
        reads.push(JSON.parse(text).commands.length);
        return new Response(text, answer);
      },
      async sleep() {
        await world.advance(3_000);
        const agent = waiting.shift();
        if (agent === undefined) return;
        for (const { command_id } of runsOf(agent)) finish(agent, command_id, { stdout: "x\n" });
        await world.settle();
      },
    }, ["--", "uptime"]);
    // Each read includes the last end of the one before.
    deq([code, out.split("\n").length, reads], [0, 6, [1, 2, 2, 2, 2]]);
  });
});

Deno.test("relay exec --all: an agent that was deleted before its large output was read is told, and the others go on", async () => {
  await using world = await World.open();
  const { owner, agents } = await makeFleet(world, 2);
  agents[0]!.script = () => ({ stdout: `${"x".repeat(9_000)}\n` });
  await withTerminal(world, async ({ run }) => {
    const { code, out, err } = await onAll(world, run, {
      env: { RELAY_TOKEN: owner.token },
      through: (send) => async (url, init) => {
        const { pathname } = new URL(url as string);
        if (pathname.endsWith("/output") || !pathname.startsWith("/api/v1/agents/")) {
          return await send(url, init);
        }
        const [, agent] = /agents\/([^/]+)/.exec(pathname)!;
        await world.call("DELETE", `/api/v1/agents/${agent}`, { as: owner.token });
        return await send(url, init);
      },
    }, ["--", "uptime"]);
    deq([code, out], [0, "web-02: done\n"]);
    match(
      err,
      /^web-01: the agent was deleted, so the rest of its output cannot be read\.\n2 agents/,
    );
  });
});
