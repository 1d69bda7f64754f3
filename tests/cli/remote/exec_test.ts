import { deepStrictEqual as deq, match, ok, strictEqual as eq } from "node:assert/strict";
import { shellLine } from "../../../core/cli/remote/exec.ts";
import { ScriptedAgent } from "../../support/agent.ts";
import { World } from "../../support/world.ts";
import { LOGIN, PASSWORD, type terminal, withTerminal } from "./terminal.ts";

type Run = ReturnType<typeof terminal>["run"];

/** How often a stream looks again at a command that waits for approval. */
const LOOK_MS = 1_000;

async function furnish(world: World) {
  const owner = await world.signUp();
  const { value } = await world.key(owner, ["agents:admin"]);
  const agent = await ScriptedAgent.connect(world, value);
  return { owner, agent, env: { RELAY_TOKEN: owner.token } };
}

/** Approves or rejects the request that a printed text names, on another terminal. */
const decider = (world: World, run: Run, decision: "approve" | "reject", token: string) => {
  let decided = false;
  return (text: string) => {
    const [, id = ""] = /relay approvals approve (prc_\w+)/.exec(text) ?? [];
    if (id === "" || decided) return;
    decided = true;
    run(["approvals", decision, id], { env: { RELAY_TOKEN: token } })
      .then(() => world.advance(LOOK_MS));
  };
};

Deno.test("shellLine: several words reach the program as they are, one is a line for the shell", async () => {
  eq(shellLine(["echo $HOME | wc"]), "echo $HOME | wc");
  const words = ["printf", "%s\\n", "a b", "it's", "$HOME", "*", "", "é;x", "--x=1"];
  const { stdout } = await new Deno.Command("sh", { args: ["-c", shellLine(words)] }).output();
  eq(new TextDecoder().decode(stdout), words.slice(2).map((word) => `${word}\n`).join(""));
});

Deno.test("relay exec: output is printed as it comes, each stream where it belongs, in two requests", async () => {
  await using world = await World.open();
  const { agent, env } = await furnish(world);
  agent.script = () => "silent";
  await withTerminal(world, async ({ run, urls }) => {
    const seen: string[] = [];
    let reached = Promise.withResolvers<void>();
    const saw = (text: string) => {
      seen.push(text);
      reached.resolve();
    };
    const printed = run(["exec", agent.id, "--", "make"], { env, saw, sawOut: saw });
    const { command_id } = (await agent.until("run")).commands[0]!;
    for (const [stream, data] of [["stdout", "one\n"], ["stderr", "two\n"], ["stdout", "é"]]) {
      reached = Promise.withResolvers();
      agent.send({ type: "output", command_id, stream: stream as "stdout", data: data! });
      await reached.promise;
      eq(seen.at(-1), data);
    }
    agent.finish({ command_id, exit_code: 7 });
    deq(await printed, { code: 7, out: "one\né", err: "two\n" });
    eq(urls.length, 2);
  });
});

Deno.test("relay exec: Ctrl-C cancels the command on the agent, ends the stream and exits with 130", async () => {
  await using world = await World.open();
  const { agent, env } = await furnish(world);
  agent.script = () => "silent";
  await withTerminal(world, async ({ run }) => {
    let interrupt = () => {};
    const printed = run(["exec", agent.id, "--", "sleep", "600"], {
      env,
      onInterrupt: (end) => interrupt = end,
      sawOut: () => interrupt(),
    });
    const { command_id } = (await agent.until("run")).commands[0]!;
    agent.send({ type: "output", command_id, stream: "stdout", data: "begun\n" });
    eq((await agent.until("cancel")).command_id, command_id);
    agent.finish({ command_id, exit_code: null, signal: "SIGTERM", reason: "cancelled" });
    deq(await printed, { code: 130, out: "begun\n", err: "Cancelling …\n" });
    await world.settle();
    eq(world.app.streams.size, 0);
  });
});

Deno.test("relay exec: when nobody reads the output any more, the command is cancelled", async () => {
  await using world = await World.open();
  const { agent, env } = await furnish(world);
  agent.script = () => "silent";
  await withTerminal(world, async ({ run }) => {
    const sawOut = () => {
      throw new Deno.errors.BrokenPipe("no reader");
    };
    const printed = run(["exec", agent.id, "--", "yes"], { env, sawOut });
    const { command_id } = (await agent.until("run")).commands[0]!;
    agent.send({ type: "output", command_id, stream: "stdout", data: "y\n" });
    await agent.until("cancel");
    agent.finish({ command_id, exit_code: null, signal: "SIGTERM", reason: "cancelled" });
    eq((await printed).code, 130);
  });
});

Deno.test("relay exec --json: a reader that has left is no failure to tell of", async () => {
  await using world = await World.open();
  const { agent, env } = await furnish(world);
  await withTerminal(world, async ({ run }) => {
    const sawOut = () => {
      throw new Deno.errors.BrokenPipe("no reader");
    };
    const { code, err } = await run(["exec", agent.id, "--json", "--", "ls"], { env, sawOut });
    deq([code, err], [141, ""]);
  });
});

Deno.test("relay commands logs -f: exits with the command's exit code in every format", async () => {
  await using world = await World.open();
  const { agent, env } = await furnish(world);
  agent.script = () => ({ stdout: "done\n", exit_code: 7 });
  await withTerminal(world, async ({ run }) => {
    eq((await run(["exec", agent.id, "--", "false"], { env })).code, 7);
    const id = (await run(["commands", "ls", "-q"], { env })).out.trim();
    for (const option of ["-otable", "--json", "-q"].map((o) => o === "-otable" ? [] : [o])) {
      eq((await run(["commands", "logs", id, "-f", ...option], { env })).code, 7, `${option}`);
    }
  });
});

Deno.test("relay exec: a held command prints who may decide, and streams after the approval on another terminal", async () => {
  await using world = await World.open();
  const { owner, agent, env } = await furnish(world);
  const colleague = await world.join(owner, ["admin"]);
  await withTerminal(world, async ({ run }) => {
    const line = ["exec", agent.id, "--", "systemctl", "stop", "nginx"];
    const saw = decider(world, run, "approve", colleague.token);
    const { code, out, err } = await run(line, { env, answers: ["y"], saw });
    deq([code, out], [0, "done\n"], err);
    match(err, /^Held for approval, risk \d+: .*\nA person with approvals:write may decide: /);
    match(err, /\nIn a browser: http:\S+\/console\/approvals\/prc_\w+\n/);
  });
});

Deno.test("relay open: a person's browser opens the page, and without one the address is printed", async () => {
  await using world = await World.open();
  const { env } = await furnish(world);
  await withTerminal(world, async ({ run }) => {
    const opened: string[] = [];
    const { out } = await run(["open", "cmd_1"], {
      env,
      answers: [],
      browse: (url) => opened.push(url) > 0,
    });
    deq(opened.map((url) => new URL(url).pathname), ["/console/commands/cmd_1"]);
    ok(out.includes(opened[0]!));
    match((await run(["open"], { env, answers: [] })).err, /Open it yourself/);
  });
});

Deno.test("relay exec: a person is asked whether to wait", async () => {
  await using world = await World.open();
  const { agent, env } = await furnish(world);
  await withTerminal(world, async ({ run }) => {
    const line = ["exec", agent.id, "--", "systemctl stop nginx"];
    const { code, err } = await run(line, { env, answers: ["n"] });
    eq(code, 126);
    match(err, /Wait for the decision\? \[Y\/n\]/);
  });
});

Deno.test("relay approvals approve: somebody alone approves their own command after a sign-in and a question", async () => {
  await using world = await World.open();
  const { agent, env } = await furnish(world);
  await withTerminal(world, async ({ run }) => {
    const { err } = await run(["exec", agent.id, "--", "systemctl stop nginx"], { env });
    const [, id = ""] = /approve (prc_\w+)/.exec(err) ?? [];
    const early = await run(["approvals", "approve", id], { env, answers: ["y"] });
    eq(early.code, 1);
    match(early.err, /^Sign in first, then approve again: relay login --url \S+ --email/);
    await world.advance(1);
    eq((await run(LOGIN, PASSWORD)).code, 0);
    eq((await run(["approvals", "approve", id])).code, 1);
    eq((await run(["approvals", "approve", id], { answers: ["n"] })).code, 1);
    const approved = await run(["approvals", "approve", id], { answers: ["y"] });
    eq(approved.code, 0, approved.err);
    match(approved.err, /^This is your own command, and you are the only user\. Approve it\?/);
    match(approved.out, /usr_\w+ approved\n/);
  });
});

Deno.test("relay exec: a rejected, a timed out and an impossible command have codes of their own", async () => {
  await using world = await World.open();
  const { owner, agent, env } = await furnish(world);
  const colleague = await world.join(owner, ["admin"]);
  await withTerminal(world, async ({ run }) => {
    const rejected = await run(["exec", agent.id, "--wait", "--", "systemctl stop nginx"], {
      env,
      saw: decider(world, run, "reject", colleague.token),
    });
    eq(rejected.code, 125, rejected.err);
    match(rejected.err, /has no exit code: rejected/);
    agent.script = ({ command_id }) => {
      const signal = "SIGKILL";
      queueMicrotask(() =>
        agent.finish({ command_id, exit_code: null, signal, reason: "timed_out" })
      );
      return "silent";
    };
    const late = await run(["exec", agent.id, "--timeout", "1", "--", "sleep 9"], { env });
    eq(late.code, 124, late.err);
    agent.drop();
    await world.settle();
    const offline = await run(["exec", agent.id, "--", "uptime"], { env });
    eq(offline.code, 125);
    match(offline.err, /Start the agent on its machine: relay agent/);
    eq((await run(["exec", agent.id, "--timeout", "soon", "--", "x"], { env })).code, 2);
    eq((await run(["exec", agent.id, "--", "x"])).code, 125);
  });
});
