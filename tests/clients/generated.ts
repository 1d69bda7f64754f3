import { match, notStrictEqual as ne, ok, strictEqual as eq } from "node:assert/strict";
import { clientOf } from "./status_client.ts";
import {
  makeKey,
  signUpOwner,
  START_MS,
  startMain,
  startRelayProcess,
  withFolder,
} from "../support/processes.ts";
import { type Generator, generators } from "./page.ts";

/**
 * The clients of docs/clients.md, generated, compiled and run as that page says. The generators come
 * from npm, PyPI and the Go module proxy: `deno task test:clients` fetches them, and nothing of Relay
 * depends on them.
 */
const AGENT = "a machine";
/** A registry that hangs must not hold the task for ever. */
const COMMAND_MS = 600_000;

type Env = Readonly<Record<string, string>>;

async function shell(commands: string, cwd: string, env: Env) {
  const { code, stdout, stderr } = await new Deno.Command("sh", {
    args: ["-euc", commands],
    cwd,
    env: { ...env, NO_COLOR: "1" },
    stdin: "null",
    signal: AbortSignal.timeout(COMMAND_MS),
  }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  return { code, out: out!, said: `${out}${err}` };
}

/** Why a generator cannot run here; null when it can. */
async function lacking({ language: { name, version }, oldest }: Generator): Promise<string | null> {
  const needed = `${name} ${oldest.join(".")} or later`;
  const [program, ...args] = version;
  const output = await new Deno.Command(program, { args }).output().catch(() => null);
  if (output === null) return `it needs ${needed}, and there is no ${program} here`;
  const found = /(\d+)\.(\d+)/.exec(new TextDecoder().decode(output.stdout));
  const [major = 0, minor = 0] = found?.slice(1).map(Number) ?? [];
  const fits = major > oldest[0] || major === oldest[0] && minor >= oldest[1];
  return fits ? null : `it needs ${needed}, and ${program} here is ${major}.${minor}`;
}

/** A relay with a connected agent; `use` gets what the programs of the page expect. */
async function withRelay(folder: string, use: (env: Env) => Promise<void>): Promise<void> {
  const { relay, url } = await startRelayProcess({ RELAY_KV: ":memory:" });
  try {
    const token = await signUpOwner(clientOf(url));
    const key = await makeKey(clientOf(url, token), ["agents:admin"]);
    await Deno.writeTextFile(`${folder}/key`, key);
    const args = ["--url", url, "--token-file", `${folder}/key`, "--name", AGENT];
    const agent = startMain(["agent", ...args, "--state", `${folder}/state`]);
    try {
      await agent.line(/^connected to /, START_MS);
      await use({ RELAY_URL: url, RELAY_TOKEN: token });
    } finally {
      await agent.stop();
    }
  } finally {
    await relay.stop();
  }
}

/** Writes the client and the program of a generator into a folder, and runs them. */
async function tryOut(generator: Generator, folder: string, env: Env): Promise<void> {
  const { generate, program, run, language: { file } } = generator;
  const document = await fetch(`${env.RELAY_URL}/openapi.json`);
  await Deno.writeTextFile(`${folder}/openapi.json`, await document.text());
  const made = await shell(generate, folder, env);
  eq(made.code, 0, made.said);
  ok(!/\bwarning\b/i.test(made.said), made.said);

  await Deno.writeTextFile(`${folder}/${file}`, program);
  const ran = await shell(run, folder, env);
  eq(ran.code, 0, ran.said);
  eq(ran.out.trim().split("\n").at(-1), `${AGENT} online`);

  const mistaken = program.replace(/\bagent\.([sS])tatus\b/, "agent.$1tatute");
  ne(mistaken, program);
  await Deno.writeTextFile(`${folder}/${file}`, mistaken);
  const refused = await shell(run, folder, env);
  ne(refused.code, 0, "a field that no agent has must not compile");
  match(refused.said, /tatute/);
}

for (const generator of await generators()) {
  const reason = await lacking(generator);
  if (reason !== null) console.log(`${generator.name}: skipped, since ${reason}`);
  Deno.test({
    name:
      `${generator.name}: the client compiles, its types are those of the answers, and it calls`,
    ignore: reason !== null,
    fn: () =>
      withFolder((folder) =>
        withRelay(folder, async (env) => {
          await Deno.mkdir(`${folder}/client`);
          await tryOut(generator, `${folder}/client`, env);
        })
      ),
  });
}
