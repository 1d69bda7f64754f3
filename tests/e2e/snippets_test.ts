import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { parse } from "yaml";
import manifest from "../../deno.json" with { type: "json" };
import { EVERYWHERE } from "../../core/cli/remote/command.ts";
import { REMOTE_COMMANDS } from "../../core/cli/remote/table.ts";
import { SCOPE_LIST } from "../../core/identity/scopes.ts";
import { parseConfig } from "../../core/context/config.ts";
import { unreadVariables } from "../../core/context/unread_variables.ts";
import { routes } from "../../routes/index.ts";
import { PYTHON } from "../events/verify_py.ts";
import { clientOf, expectStatus } from "../clients/status_client.ts";
import { NO_LIMITS } from "../support/no_limits.ts";
import {
  makeKey,
  runProgram,
  signUpOwner,
  START_MS,
  startMain,
  startRelayProcess,
  withFolder,
} from "../support/processes.ts";
import { commandsOf, readCurl, type Snippet, SNIPPETS, type Words } from "./snippets.ts";

const MAIN = new URL("../../main.ts", import.meta.url).pathname;
const SHELL = SNIPPETS.filter(({ language }) => language === "sh");
const placeholder = (name: string) => name.startsWith("<") ? name : `$${name}`;

/** Snippets of programs, by page and language: the test that runs them, or the program whose imports they share. */
const PROGRAMS: Readonly<Record<string, string>> = {
  "docs/clients.md ts": "tests/clients/page.ts",
  "docs/clients.md py": "tests/clients/page.ts",
  "docs/clients.md go": "tests/clients/page.ts",
  "docs/mcp.md ts": "tests/mcp/packages/current_client.ts",
  "docs/policy.md yaml": "tests/policies/document_test.ts",
  "docs/streams.md js": "tests/e2e/streams_test.ts",
  "docs/webhooks.md python": "tests/delivery/webhooks/documentation_test.ts",
  "docs/webhooks.md js": "tests/delivery/webhooks/documentation_test.ts",
  "docs/webhooks.md go": "tests/delivery/webhooks/documentation_test.ts",
};
/** Snippets that the tests below read. */
const HERE = [
  "docs/alerts.md yaml",
  "docs/compliance.md python",
  "docs/mcp.md toml",
  "docs/typescript.md ts",
];

/** Programs in shell snippets that are not Relay's, and why no test runs them. */
const OTHERS: Readonly<Record<string, readonly string[]>> = {
  "`deno task test:clients` runs them": [
    ..."export echo npm npx node python3 . pip openapi-python-client mypy python go".split(" "),
  ],
  "they change a machine or are not Relay's": [
    ..."mkdir install cp useradd systemctl docker ip openssl denokv jq xargs claude".split(" "),
  ],
  "they need a release": ["gh", "sha256sum", "sh"],
};

/** A command without the variables in front of it, and those. */
function split(words: Words): { readonly env: readonly string[]; readonly command: Words } {
  const at = words.findIndex((word) => !/^[A-Z_]+=/.test(word));
  return at < 0
    ? { env: words, command: [] }
    : { env: words.slice(0, at), command: words.slice(at) };
}

const commandsIn = (snippets: readonly Snippet[], valueOf = placeholder) =>
  snippets.flatMap(({ page, text }) =>
    commandsOf(text, valueOf).map((words) => ({ page, ...split(words) }))
  );

Deno.test("docs: every snippet is one that a test reads", () => {
  const others = SNIPPETS.filter(({ language }) => !["sh", "json", ""].includes(language))
    .map(({ page, language }) => `${page} ${language}`);
  deq(new Set(others), new Set([...Object.keys(PROGRAMS), ...HERE]));
  for (const [snippet, test] of Object.entries(PROGRAMS)) {
    const [page = "", language] = snippet.split(" ");
    const text = Deno.readTextFileSync(new URL(`../../${test}`, import.meta.url));
    const own = SNIPPETS.find((each) => each.page === page && each.language === language);
    const imports = [...own!.text.matchAll(/^import \{ (.*) \} from "(.*)"/gm)]
      .flatMap(([, names, from]) => [...names!.split(", "), from!]);
    const isRead = text.includes(page.replace("docs/", ""));
    ok(isRead || imports.length > 0 && imports.every((name) => text.includes(name)), snippet);
  }
  for (const { page, language, text } of SNIPPETS) {
    if (language === "json") JSON.parse(text);
    if (language === "yaml") parse(text);
    if (language === "") ok(!/^ *(relay [a-z]+|curl|deno)\b/m.test(text), `${page}: sh is missing`);
  }
});

Deno.test("docs: every program in a shell snippet is known, and every task and file exists", () => {
  const known = ["relay", "curl", "deno", ...Object.values(OTHERS).flat()];
  for (const { page, command: [program, ...args] } of commandsIn(SHELL)) {
    ok(program === undefined || known.includes(program), `${page}: ${program}`);
    if (program === "deno" && args[0] === "task") {
      ok(Object.hasOwn(manifest.tasks, args[1]!), `${page}: deno task ${args[1]}`);
    }
    for (const file of args.filter((each) => /^deploy\//.test(each))) {
      ok(Deno.statSync(new URL(`../../${file}`, import.meta.url)).isFile, `${page}: ${file}`);
    }
  }
});

Deno.test("docs: every variable in a shell snippet is read, and every configuration is valid", () => {
  for (const { page, env } of commandsIn(SHELL)) {
    for (const assignment of env) {
      const [name = "", ...value] = assignment.split("=");
      if (!name.startsWith("RELAY_")) continue;
      deq(unreadVariables({ [name]: "x" }), [], page);
      if (name === "RELAY_CONFIG") parseConfig(value.join("="));
    }
  }
});

Deno.test("docs: every relay command in a snippet exists, with its options", async () => {
  const helps = new Map<string, Promise<{ success: boolean; text: string }>>();
  const commands = commandsIn(SHELL).filter(({ command }) => command[0] === "relay");
  ok(commands.length > 100);
  for (const { page, command: [, ...words] } of commands) {
    const said = `${page}: relay ${words.join(" ")}`;
    const end = words.indexOf("--");
    const options = words.slice(0, end < 0 ? words.length : end)
      .filter((word) => /^--?[a-z]/.test(word));
    const remote = REMOTE_COMMANDS.find(({ name }) => `${words.join(" ")} `.startsWith(`${name} `));
    if (remote !== undefined) {
      const names = [...remote.options, ...EVERYWHERE].flatMap(({ name, letter }) => [
        `--${name}`,
        ...letter === undefined ? [] : [`-${letter}`],
      ]);
      deq(options.filter((option) => !names.includes(option)), [], said);
      continue;
    }
    const name = words.slice(0, /^[a-z]+$/.test(words[1] ?? "") ? 2 : 1).join(" ");
    const help = await helps.getOrInsertComputed(
      name,
      () => runProgram(Deno.execPath(), ["run", "-A", MAIN, ...name.split(" "), "--help"]),
    );
    ok(help.success, said);
    for (const option of options) {
      ok(new RegExp(`(^|[\\s\`,])${option}\\b`, "m").test(help.text), `${said}: ${option}`);
    }
  }
});

Deno.test("docs: the snippets of the TypeScript client have the types of the client", async () => {
  await withFolder(async (folder) => {
    const client = new URL("../../core/client/client.ts", import.meta.url).href;
    const page = SNIPPETS.filter(({ page }) => page === "docs/typescript.md");
    const [first = "", ...others] = page.map(({ text }) =>
      text.replaceAll("./core/client/client.ts", client)
    );
    const program = `${first}\n${others.join("\n")}\nexport { RelayError, result };\n`;
    await Deno.writeTextFile(`${folder}/main.ts`, `declare const request: Request;\n${program}`);
    const { success, text } = await runProgram(Deno.execPath(), ["check", `${folder}/main.ts`]);
    ok(success, text);
  });
});

Deno.test("docs: endpoints that a snippet lists exist", () => {
  const listed = SNIPPETS.filter(({ language }) => language === "").flatMap(({ page, text }) =>
    [...text.matchAll(/^(GET|POST|PUT|PATCH|DELETE) (\/api\/(?:<[^>]+>|[^\s?])*)/gm)]
      .map(([, method, path]) => ({ page, method, path: path!.replaceAll(/<[^>]+>/g, "{}") }))
  );
  ok(listed.length > 5);
  const known = routes.map(({ method, path }) => `${method} ${path.replaceAll(/\{\w+\}/g, "{}")}`);
  deq(listed.filter(({ method, path }) => !known.includes(`${method} ${path}`)), []);
});

Deno.test("docs: a live relay with an agent accepts every request of a snippet", async () => {
  const config = { ...NO_LIMITS, outbound: { allow_private_targets: true } };
  await withFolder(async (folder) => {
    const { relay, url } = await startRelayProcess({
      RELAY_KV: `${folder}/relay.kv`,
      RELAY_CONFIG: JSON.stringify(config),
    });
    let agent: ReturnType<typeof startMain> | null = null;
    try {
      const token = await signUpOwner(clientOf(url));
      const owner = clientOf(url, token);
      const key = await makeKey(owner, SCOPE_LIST);
      agent = startMain(
        ["agent", "--url", url, "--name", "web-1", "--state", folder, "--label", "env=test"],
        { RELAY_TOKEN: key },
      );
      const [, agentId = ""] = await agent.line(/^connected to .* \((\w+)\)$/, START_MS);
      const invited = await owner<{ invite_code: string }>("POST", "/api/v1/invitations", {
        roles: ["owner"],
      });
      const { invite_code } = expectStatus(invited, 201, "inviting");
      const joined = await clientOf(url)<{ token: string }>("POST", "/api/v1/signup", {
        email: "b@example.com",
        password: "correct horse 8",
        invite_code,
      });
      const approver = expectStatus(joined, 201, "joining").token;
      const exec = (command: string) =>
        owner<{ command_id: string; approval_id: string }>(
          "GET",
          `/api/exec/${agentId}?${new URLSearchParams({ command })}`,
        );
      const ran = expectStatus(await exec("uptime"), 200, "a command");
      const ownKey = await owner<{ id: string }>("POST", "/api/v1/api-keys", {
        name: "old",
        scopes: ["agents:read"],
      });
      const values: Readonly<Record<string, string>> = {
        RELAY: url,
        RELAY_URL: url,
        TOKEN: approver,
        KEY: key,
        RELAY_KEY: key,
        AGENT_CREDENTIAL: key,
        AGENT: agentId,
        AGENT_ID: agentId,
        COMMAND: ran.command_id,
        ID: expectStatus(ownKey, 201, "a key").id,
        EMAIL: "a@example.com",
        PASSWORD: "correct horse 7",
      };
      let sent = 0;
      for (const { page, text } of SHELL) {
        const stop = text.includes("$PID") ? await heldBy(exec, text.split("$PID").length - 1) : [];
        const valueOf = (name: string) => name === "PID" ? stop.shift()! : values[name] ?? name;
        const here = text.replaceAll("https://relay.example.com", url)
          .replaceAll(/(http:\/\/)?(localhost|127\.0\.0\.1):9081/g, url)
          .replaceAll("agt_01", agentId).replaceAll("/agents/vm", "/agents/web-1")
          .replaceAll('"env":"prod"', '"env":"test"');
        for (const { command } of commandsIn([{ page, language: "sh", text: here }], valueOf)) {
          if (command[0] !== "curl") continue;
          const { method, url: to, headers, body } = readCurl(command);
          // Another service's address, and a release's.
          if (!to.startsWith(url)) continue;
          const response = await fetch(to, { method, headers, ...body && { body } });
          const why = `${page}: ${method} ${to} ${response.status}`;
          if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
            await response.body?.cancel();
          } else {
            const answer = await response.text();
            ok(response.ok, why + answer);
          }
          sent++;
        }
      }
      ok(sent > 15, `${sent} requests`);
      const addresses = SNIPPETS.filter(({ language }) => language !== "sh").flatMap(({ text }) =>
        [...text.matchAll(/http:\/\/127\.0\.0\.1:9081(\/mcp[^"\s]*)/g)].map(([, path]) => path)
      );
      ok(addresses.length > 1);
      for (const path of new Set(addresses)) {
        const answer = await fetch(url + path, {
          method: "POST",
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
        });
        ok((await answer.json()).result.tools.length > 0, path);
      }
      const made = await owner<{ id: string }>("POST", "/api/v1/compliance/report/generate", {
        type: "soc2",
        period: "2026-Q3",
      });
      const { id } = expectStatus(made, 202, "a report");
      await Deno.writeTextFile(`${folder}/report.json`, await reportMade(owner, id));
      await runPython("docs/compliance.md", folder);
    } finally {
      await agent?.stop();
      await relay.stop();
    }
  });
});

/** The JSON of a report, once it is generated. */
async function reportMade(owner: ReturnType<typeof clientOf>, id: string): Promise<string> {
  for (;;) {
    const path = `/api/v1/compliance/report?id=${id}&format=json`;
    const { status, body } = await owner<{ status?: string; note?: unknown }>("GET", path);
    if (status >= 400 || body.status === "failed") throw new Error(JSON.stringify(body));
    if (typeof body.note === "string") return JSON.stringify(body);
  }
}

/** Runs a page's program in Python in a folder, if Python is installed. */
async function runPython(page: string, cwd: string): Promise<void> {
  const [program] = SNIPPETS.filter((each) => each.page === page && each.language === "python");
  if (!PYTHON) return console.log(`python3 is not installed: ${page} is not run`);
  const args = ["-c", program!.text];
  const { success, stderr } = await new Deno.Command("python3", { args, cwd }).output();
  ok(success, new TextDecoder().decode(stderr));
}

/** The approval requests of some held commands, which are harmless once they run. */
async function heldBy(
  exec: (command: string) => ReturnType<ReturnType<typeof clientOf>>,
  count: number,
): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n++) {
    const { status, body } = await exec("systemctl stop no-such-unit");
    eq(status, 202);
    ids.push((body as { approval_id: string }).approval_id);
  }
  return ids;
}
