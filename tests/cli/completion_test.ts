import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { completionCommand } from "../../core/cli/completion.ts";
import { agentNames } from "../../core/cli/remote/names.ts";
import { EVERYWHERE } from "../../core/cli/remote/command.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { World } from "../support/world.ts";
import { LOGIN, PASSWORD, withTerminal } from "./remote/terminal.ts";

/** The options of a command without its own. */
const REMOTE = EVERYWHERE.map(({ name }) => `--${name}`);
const FIRST = ["agents", "approvals", "exec", "serve"];

async function scriptOf(shell: string): Promise<{ code: number; script: string }> {
  const log = console.log;
  let script = "";
  console.log = (text: string) => script += `${text}\n`;
  try {
    return { code: await completionCommand([shell], FIRST), script };
  } finally {
    console.log = log;
  }
}

/** What bash offers for a line. */
async function offered(...line: readonly string[]): Promise<string[]> {
  const { script } = await scriptOf("bash");
  const words = ["relay", ...line].map((word) => `'${word}'`).join(" ");
  const ask = `COMP_WORDS=(${words}); COMP_CWORD=${line.length}; _relay; echo "\${COMPREPLY[*]}"`;
  // A relay whose agents are web-1 and db-1.
  const relay = '[ "$*" = "completion agents" ] && printf "%s\\n" web-1 db-1';
  const text = `relay() { ${relay}; }\n${script}\n${ask}`;
  const { stdout } = await new Deno.Command("bash", { args: ["-c", text] }).output();
  return new TextDecoder().decode(stdout).trim().split(" ");
}

Deno.test("relay completion: bash completes groups, commands and their options", async () => {
  deq(await offered("a"), ["agents", "approvals"]);
  deq(await offered("agents", "r"), ["rename", "rm", "restart"]);
  deq(await offered("approvals", ""), ["ls", "show", "approve", "reject", "suggest"]);
  deq(await offered("agents", "ls", "--st"), ["--status"]);
  deq(await offered("exec", "web-1", "--t"), ["--timeout"]);
  deq(await offered("serve", "--x"), [""]);
});

Deno.test("relay completion: names of agents are completed where a command takes one", async () => {
  deq(await offered("exec", ""), ["web-1", "db-1"]);
  deq(await offered("exec", "w"), ["web-1"]);
  deq(await offered("agents", "show", "d"), ["db-1"]);
  deq(await offered("agents", "label", "web-1", ""), REMOTE);
  deq(await offered("exec", "--t"), ["--timeout"]);
  const { script } = await scriptOf("fish");
  const names = `test (count (commandline -opc)) -eq 2" -a "(relay completion agents 2>/dev/null)"`;
  eq(script.includes(`__fish_seen_subcommand_from exec; and ${names}`), true);
});

Deno.test("agentNames: names of the relay's agents; none, in silence, without a sign-in or a relay", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value } = await world.key(owner, ["agents:admin"]);
  for (const name of ["web-1", "db-1"]) await ScriptedAgent.connect(world, value, { name });
  await withTerminal(world, async ({ run, host }) => {
    deq(await agentNames(host()), []);
    eq((await run(LOGIN, PASSWORD)).code, 0);
    deq((await agentNames(host())).sort(), ["db-1", "web-1"]);
    const away = () => Promise.reject(new TypeError("connection refused"));
    deq(await agentNames({ ...host(), fetch: away }), []);
  });
});

Deno.test("agentNames: a text that is no name is left out, since bash would run what it holds", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await withTerminal(world, async ({ host }) => {
    const names = ["web-1", "$(touch /tmp/file)", "`id`", "Web", "-x", "a\nb", "a b", "web-2"];
    const agents = names.map((name) => ({ name }));
    const hostile = () => Promise.resolve(Response.json({ agents }));
    const env = { RELAY_TOKEN: owner.token };
    deq(await agentNames({ ...host(), env, fetch: hostile }), ["web-1", "web-2"]);
  });
});

Deno.test("relay completion: zsh and fish get scripts, another shell is refused", async () => {
  for (const shell of ["zsh", "fish"]) eq((await scriptOf(shell)).code, 0);
  eq(
    (await scriptOf("fish")).script.split("\n").every((line) =>
      /^(complete -c relay |$)/.test(line)
    ),
    true,
  );
  const error = console.error;
  console.error = () => {};
  try {
    eq((await scriptOf("powershell")).code, 2);
    eq((await scriptOf("toString")).code, 2);
  } finally {
    console.error = error;
  }
});
