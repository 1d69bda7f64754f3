import { deepStrictEqual as deq, match, strictEqual as eq } from "node:assert/strict";
import { shellLine } from "../../../core/cli/remote/exec.ts";
import { ScriptedAgent } from "../../support/agent.ts";
import { World } from "../../support/world.ts";
import { withTerminal } from "./terminal.ts";

async function furnish(world: World) {
  const owner = await world.signUp();
  const { value } = await world.key(owner, ["agents:admin"]);
  const agent = await ScriptedAgent.connect(world, value);
  return { owner, agent, env: { RELAY_TOKEN: owner.token } };
}

/** Lets the wait of a request for a silent command pass. */
async function passFirstWait(world: World, agent: ScriptedAgent): Promise<void> {
  await agent.until("run");
  await world.advance(1_000);
}

Deno.test("shellLine: several words reach the program as they are, one is a line for the shell", async () => {
  eq(shellLine(["echo $HOME | wc"]), "echo $HOME | wc");
  const words = ["printf", "%s\\n", "a b", "it's", "$HOME", "*", "", "é;x", "--x=1"];
  const { stdout } = await new Deno.Command("sh", { args: ["-c", shellLine(words)] }).output();
  eq(new TextDecoder().decode(stdout), words.slice(2).map((word) => `${word}\n`).join(""));
});

Deno.test("relay exec: Ctrl-C cancels the command on the agent and exits with 130", async () => {
  await using world = await World.open();
  const { agent, env } = await furnish(world);
  agent.script = () => "silent";
  await withTerminal(world, async ({ run }) => {
    let interrupt = () => {};
    const printed = run(["exec", agent.id, "--", "sleep", "600"], {
      env,
      onInterrupt: (end) => interrupt = end,
      sleep: async (ms) => {
        interrupt();
        await world.advance(ms);
      },
    });
    await passFirstWait(world, agent);
    const { command_id } = await agent.until("cancel");
    agent.finish({ command_id, exit_code: null, signal: "SIGTERM", reason: "cancelled" });
    eq((await printed).code, 130);
    const ran = await agent.until("run");
    eq(command_id, ran.commands[0]!.command_id);
  });
});

Deno.test("relay exec: a held command prints who may decide, and gives its result after the approval", async () => {
  await using world = await World.open();
  const { owner, agent, env } = await furnish(world);
  const colleague = await world.join(owner, ["admin"]);
  await withTerminal(world, async ({ run }) => {
    const line = ["exec", agent.id, "--wait", "--", "systemctl", "stop", "nginx"];
    let [asked, id] = [0, ""];
    const { code, out, err } = await run(line, {
      env,
      saw: (text) => id ||= /relay approvals approve (prc_\w+)/.exec(text)?.[1] ?? "",
      async sleep(ms) {
        await world.advance(ms);
        if (++asked !== 3) return;
        const approving = { env: { RELAY_TOKEN: colleague.token } };
        eq((await run(["approvals", "approve", id], approving)).code, 0);
      },
    });
    deq([code, out], [0, "done\n"]);
    match(err, /^Held for approval, risk \d+: .*\nA person with approvals:write may decide: /);
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

Deno.test("relay exec: a rejected, a timed out and an impossible command have codes of their own", async () => {
  await using world = await World.open();
  const { owner, agent, env } = await furnish(world);
  const colleague = await world.join(owner, ["admin"]);
  await withTerminal(world, async ({ run }) => {
    let id = "";
    const rejected = await run(["exec", agent.id, "--wait", "--", "systemctl stop nginx"], {
      env,
      saw: (text) => id ||= /approve (prc_\w+)/.exec(text)?.[1] ?? "",
      async sleep(ms) {
        await run(["approvals", "reject", id], { env: { RELAY_TOKEN: colleague.token } });
        await world.advance(ms);
      },
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
