import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { GROUPS, REMOTE_COMMANDS } from "../../../core/cli/remote/table.ts";
import { make } from "../../host/compliance_fixtures.ts";
import { ScriptedAgent } from "../../support/agent.ts";
import { World } from "../../support/world.ts";
import { machineThat } from "./machine.ts";
import { furnishOversight, OVERSIGHT_LINES, withoutOversightIds } from "./oversight_lines.ts";
import { withCommands } from "./page.ts";
import { PASSWORD, type Printed, withTerminal } from "./terminal.ts";

/**
 * Every command with what it prints, for people and for programs, against a whole relay. The words of a line are those
 * of a shell without quotes; $NAME stands for something that the test made. RELAY_GOLDEN=write writes the file anew.
 */
const FILE = new URL("golden.txt", import.meta.url);

const LINES = [
  "login --email person1@example.com --password-stdin",
  "login --email person1@example.com --password-stdin --json",
  "whoami",
  "whoami --json",
  "open",
  "open --json",
  "open prc_0m3x1",
  "open web-1",
  "status",
  "status --json",
  "agents ls",
  "agents ls --json",
  "agents ls -o yaml",
  "agents ls -q",
  "agents ls -l env=none",
  "agents ls --outdated",
  "agents show $AGENT",
  "agents show $AGENT --json",
  "agents show agt_missing",
  "agents restart $AGENT",
  "agents restart $AGENT --json",
  "agents upgrade",
  "agents upgrade $AGENT $AGENT2",
  "agents upgrade -l env=prod --json",
  "agents upgrade --all --label env",
  "agents sho $AGENT",
  "exec $AGENT -- uptime",
  "exec $AGENT --json -- uptime",
  "exec $AGENT -- fails",
  "exec $AGENT -- rm -rf /",
  "exec agt_missing -- uptime",
  "exec $AGENT uptime",
  "exec -l env=prod -- uptime",
  "exec -l env=prod --json -- uptime",
  "exec --all -- fails",
  "exec -l env=none -- uptime",
  "exec -l env -- uptime",
  "exec -l env=prod -l env=test -- uptime",
  "exec $AGENT -l env=prod -- uptime",
  "exec -- uptime",
  "exec $AGENT -- systemctl stop nginx",
  "commands ls",
  "commands ls --json --limit 1",
  "commands ls --agent web-1 --status failed --text FAILS -q",
  "commands ls --agent web-none",
  "commands ls --status done",
  "commands show $COMMAND",
  "commands show $COMMAND --json",
  "commands show cmd_missing",
  "commands logs $COMMAND",
  "commands logs $COMMAND -f",
  "commands logs $COMMAND --json",
  "commands cancel $COMMAND",
  "commands cancel $HELD",
  "commands cancel $HELD2 --json",
  "approvals ls",
  "approvals ls --json",
  "approvals show $APPROVAL",
  "approvals show $APPROVAL --json",
  "approvals approve $APPROVAL",
  "@colleague approvals approve $APPROVAL --reason planned",
  "@colleague approvals approve $APPROVAL2 --json",
  "@colleague approvals reject $APPROVAL3",
  "@colleague approvals reject $APPROVAL4 --json",
  "approvals ls --status all",
  "approvals suggest",
  "approvals suggest --json",
  "approvals suggest --policy",
  ...OVERSIGHT_LINES,
  "keys ls",
  "keys ls --json",
  "keys create",
  "keys create ci",
  "keys create ci -s agents:read -s agents:write",
  "keys create ci -s agents:read -q",
  "keys create ci -s agents:read --json",
  "keys explain $KEY agents:admin",
  "keys explain $KEY agents:write",
  "keys explain $KEY agents:write --json",
  "keys rotate $KEY",
  "keys rotate $KEY",
  "keys rotate $KEY2 --grace-hours 0 --json",
  "keys rotate verdict",
  "keys revoke $KEY",
  "keys revoke $KEY --dry-run",
  "keys revoke $KEY --yes",
  "keys revoke $KEY2 --yes --json",
  "pair web-7",
  "pair web-7 --json",
  "agents rename $AGENT web-9",
  "agents rename web-9 web-2",
  "agents rename web-2-2 agt_x",
  "agents rename web-2-2 web-9 --json",
  "agents rename web-9",
  "agents label web-9 env=test rack=7",
  "agents label web-9 rack- --json",
  "agents label web-9 rack",
  "agents rm $AGENT",
  "agents rm $AGENT --yes",
  "agents rm $AGENT2 --yes --json",
  "agents ls --colour",
  "agents ls -o csv",
  "agents",
  "keys explain --help",
  "mcp",
  "mcp --json",
  "mcp --tools few",
  "mcp --help",
  "login --confirm 0000-0000 --yes",
  "logout",
  "whoami",
  "mcp",
  "login --email person1@example.com --password-stdin -q",
  "logout --forget",
  "login --email person1@example.com --password-stdin -q",
  "logout --json",
  "login --sign-up Mine",
  "login --email new@example.com --password-stdin --sign-up Mine",
  "login --email other@example.com --password-stdin --sign-up Mine --json",
];

/** What an MCP client writes; its answers end the waiting. */
const MESSAGES = {
  input: '{"jsonrpc":"2.0","id":1,"method":"ping"}\nno message\n',
  sleep: () => new Promise<void>(() => {}),
};

/** Ids, keys and codes as long as they are, so that columns stay where they are. */
const withoutIds = (text: string): string =>
  text.replaceAll(
    /\b(svc_live|agt|cmd|flt|key|org|prc|ses|usr)_(?!missing)(\w{4,})|\b[0-9a-f]{64}\b/g,
    (found, prefix) =>
      prefix === undefined ? "0".repeat(64) : `${prefix}_`.padEnd(found.length, "0"),
  ).replaceAll(/(?<=--code )\S+/g, "0000-0000-0000-0000")
    .replaceAll(/(?<="cursor": "|--cursor )[^"\s]+/g, "cursor");

const shown = (line: string, { code, out, err }: Printed): string =>
  `$ relay ${line}\n${out}${err.replaceAll(/^(?=.)/gm, "! ")}[exit ${code}]\n`;

Deno.test("relay: every command prints what golden.txt shows", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const colleague = await world.join(owner, ["admin"]);
  const key = await world.key(owner, ["agents:admin", "agents:write", "agents:read"]);
  const agent = await ScriptedAgent.connect(world, key.value, { labels: { env: "prod" } });
  agent.script = ({ command }) =>
    command === "fails"
      ? { stdout: "half\n", stderr: "no such thing\n", exit_code: 7 }
      : { stdout: `ran ${command}\n` };
  const other = await ScriptedAgent.connect(world, key.value, {
    name: "web-2",
    hello: (own) => ({ ...own, agent: { ...own.agent, version: "0.0.9" } }),
  });
  const made: Record<string, string> = { AGENT: agent.id, AGENT2: other.id, KEY: key.id };
  made.KEY2 = (await world.key(owner, ["system:read"], { name: "probe" })).id;
  const start = async (command: string) => {
    const path = `/api/exec/${agent.id}?command=${command}`;
    return (await world.call("GET", path, { as: owner.token })).body;
  };
  made.COMMAND = (await start("fails")).command_id;
  for (const name of ["HELD", "HELD2"]) {
    made[name] = (await start("systemctl+stop+mysql")).command_id;
  }
  for (const name of ["APPROVAL", "APPROVAL2", "APPROVAL3", "APPROVAL4"]) {
    made[name] = (await start("systemctl+stop+mysql")).approval_id;
  }
  Object.assign(made, await furnishOversight(world, owner));
  const report = await make(world, owner, "soc2", "24h");
  await withTerminal(world, async ({ run, profiles }) => {
    made.FILE = profiles.replace(/\.config.*/, "audit.ndjson");
    made.ARCHIVE = profiles.replace(/\.config.*/, "evidence.tar");
    made.REPORT = profiles.replace(/\.config.*/, "report.json");
    await Deno.writeTextFile(made.REPORT, JSON.stringify(report));
    made.HISTORY = profiles.replace(/\.config.*/, "history");
    await Deno.writeTextFile(made.HISTORY, "uptime\nsystemctl stop mysql\n");
    let transcript = "";
    for (const line of LINES) {
      const [first = "", ...others] = line.split(" ")
        .map((word) => word.replace(/^\$(\w+)$/, (_, name) => made[name]!));
      const env = first === "@colleague" ? { RELAY_TOKEN: colleague.token } : {};
      const words = first === "@colleague" ? others : [first, ...others];
      const machine = machineThat(world);
      const saw = (text: string) => void machine(text);
      const options = first === "mcp" ? MESSAGES : { ...PASSWORD, saw, sawOut: saw };
      const printed = await run(words, { ...options, env });
      transcript += `${shown(line, printed)}\n`;
    }
    const text = withoutOversightIds(withoutIds(transcript)).replaceAll(
      /\/tmp\/relay-test-\w+/g,
      "$HOME",
    );
    if (Deno.env.get("RELAY_GOLDEN") === "write") await Deno.writeTextFile(FILE, text);
    eq(text, await Deno.readTextFile(FILE));
  });
});

Deno.test("relay: golden.txt has every command for people, and for programs if it prints something", () => {
  const has = (name: string, more: string) =>
    LINES.some((line) => line.replace("@colleague ", "").startsWith(name) && line.includes(more));
  deq(REMOTE_COMMANDS.filter(({ name }) => !has(name, "")).map(({ name }) => name), []);
  const silent = REMOTE_COMMANDS.filter(({ name }) => !has(name, "--json")).map(({ name }) => name);
  deq(silent, []);
});

Deno.test("REMOTE_COMMANDS: docs/cli.md is what deno task docs writes", async () => {
  const page = await Deno.readTextFile(new URL("../../../docs/cli.md", import.meta.url));
  eq(page, withCommands(page));
});

Deno.test("REMOTE_COMMANDS: groups have commands, names differ, and every example is one of its command", async () => {
  deq(
    [...new Set(REMOTE_COMMANDS.map(({ name }) => name.split(" ")[0]!))].sort(),
    Object.keys(GROUPS).sort(),
  );
  for (const { name, examples, load, options } of REMOTE_COMMANDS) {
    for (const example of examples) eq(example.startsWith(`relay ${name}`), true, example);
    const letters = options.flatMap(({ letter }) => letter ?? []);
    deq(letters.filter((letter) => "oqh".includes(letter)), []);
    eq(typeof await load(), "function");
  }
});
