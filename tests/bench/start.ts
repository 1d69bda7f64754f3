import { makeChunks } from "../build/make_bundle.ts";
import { startProgram, V8_FLAGS } from "../../core/cli/program.ts";
import { freePort } from "../cluster/denokv.ts";
import { START_MS, withFolder } from "../support/processes.ts";
import { signUp } from "./client.ts";
import { figure } from "./figures.ts";
import { HERE, median, ROOT } from "./parts.ts";
import { sized } from "./size.ts";

const PROGRAM = `file://${ROOT}main.ts`;
const RUNS = sized(15, 2);
/** The pause between two requests to a server that does not listen yet, in ms. */
const POLL_MS = 5;

/** As the task `start` and the executable run the program. */
const AS_BUILT = ["-A", V8_FLAGS];

/** Starts something and resolves to the ms from its start until it was ready. */
type Start = () => Promise<number>;

/** How long a relay and an agent take to start with warm caches, beside the bare runtime and a bare server, by turns. */
export const benchStart = (): Promise<void> =>
  withFolder(async (folder) => {
    const empty = `${folder}/empty.ts`;
    await Deno.writeTextFile(empty, "");
    await makeChunks(`${folder}/chunks`);
    const parts = `file://${folder}/chunks/main.js`;
    await withRelay(PROGRAM, `${folder}/linked`, async (agentOf) => {
      const starts: Readonly<Record<string, Start>> = {
        "an empty file": () => toEnd(["run", "-A", empty]),
        "a bare Hono server, to its first answer": toBareAnswer,
        "relay --help": () => toEnd(["run", "-A", PROGRAM, "--help"]),
        "relay serve, to the first 200 of /healthz": () => toHealthz(PROGRAM, `${folder}/served`),
        "relay serve from its parts, to the first 200 of /healthz": () =>
          toHealthz(parts, `${folder}/served`),
        "relay serve, ready": () => toReady(PROGRAM, `${folder}/served`),
        "relay serve from its parts, ready": () => toReady(parts, `${folder}/served`),
        "relay agent, to its link": agentOf(PROGRAM),
        "relay agent from its parts, to its link": agentOf(parts, AS_BUILT),
      };
      const took = new Map(Object.keys(starts).map((name) => [name, [] as number[]]));
      for (let run = -1; run < RUNS; run++) {
        for (const [name, start] of Object.entries(starts)) {
          const ms = await start();
          if (run >= 0) took.get(name)!.push(ms); // the first one warms
        }
      }
      const [bare] = took.values();
      for (const [name, all] of took) {
        figure(name, median(all), "ms");
        const ratio = median(all.map((ms, run) => ms / bare![run]!)).toFixed(1);
        console.log(
          `${name.padEnd(57)} ${median(all).toFixed(0).padStart(5)} ms, at least ` +
            `${Math.min(...all).toFixed(0).padStart(4)} ms, ${ratio} of an empty file`,
        );
      }
    });
  });

/** From the start of the relay, whose program is at the address `main`, to the first 200 of /healthz, on the store of a first day. */
export async function toHealthz(
  main: string,
  folder: string,
  permissions = AS_BUILT,
): Promise<number> {
  await makeStore(main, folder);
  const port = freePort();
  const startedMs = performance.now();
  const relay = startRelay(main, folder, port, permissions);
  try {
    return await firstAnswer(`http://127.0.0.1:${port}/healthz`, relay.ended) - startedMs;
  } finally {
    await relay.kill();
  }
}

/** The same until it serves everything. */
export async function toReady(
  main: string,
  folder: string,
  permissions = AS_BUILT,
): Promise<number> {
  await makeStore(main, folder);
  const startedMs = performance.now();
  const relay = startRelay(main, folder, 0, permissions);
  try {
    await relay.line(READY, START_MS);
    return performance.now() - startedMs;
  } finally {
    await relay.kill();
  }
}

const READY = / is ready at (\S+)$/;

const startRelay = (main: string, folder: string, port: number, permissions = AS_BUILT) =>
  startProgram(["serve"], {
    main,
    permissions,
    env: { RELAY_KV: `${folder}/relay.kv`, RELAY_HOST: "127.0.0.1", RELAY_PORT: `${port}` },
  });

/** Makes a small store, unless it is there. */
async function makeStore(main: string, folder: string): Promise<void> {
  try {
    await Deno.mkdir(folder);
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return;
    throw error;
  }
  const relay = startRelay(main, folder, 0);
  try {
    const [, base] = await relay.line(READY, START_MS);
    await signUp(base!, 0);
  } finally {
    await relay.stop();
  }
}

/** Runs a relay, and `use` with the start of an agent that has an account there. */
export async function withRelay(
  main: string,
  folder: string,
  use: (agentOf: (main: string, permissions?: string[]) => Start) => Promise<void>,
): Promise<void> {
  await Deno.mkdir(folder);
  const relay = startRelay(main, folder, 0);
  try {
    const [, base] = await relay.line(READY, START_MS);
    const { key } = await signUp(base!, 0);
    const env = { RELAY_URL: base!, RELAY_TOKEN: key };
    await use((program, permissions) => () => toLink(program, folder, env, permissions));
  } finally {
    await relay.stop();
  }
}

/** From the start of an agent, whose state is in `folder`, until it is linked with the relay that `env` names. */
export async function toLink(
  main: string,
  folder: string,
  env: Readonly<Record<string, string>>,
  permissions = ["-A"],
): Promise<number> {
  const startedMs = performance.now();
  const args = ["agent", "--name", "started", "--state", `${folder}/agent`];
  const agent = startProgram(args, { main, env, permissions });
  try {
    await agent.line(/^connected to /, START_MS);
    return performance.now() - startedMs;
  } finally {
    await agent.stop();
  }
}

async function toBareAnswer(): Promise<number> {
  const startedMs = performance.now();
  const args = ["run", "-A", "--no-check", `${HERE}bare_http.ts`];
  const child = new Deno.Command(Deno.execPath(), { args, stdin: "null", stdout: "piped" }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  try {
    const { port } = JSON.parse((await reader.read()).value!);
    const url = `http://127.0.0.1:${port}/api/v1/agents/a`;
    return await firstAnswer(url, child.status) - startedMs;
  } finally {
    child.kill("SIGKILL");
    await reader.cancel();
    await child.status;
  }
}

/** How long a program runs. @throws {Error} when it fails */
export async function toEnd(args: readonly string[]): Promise<number> {
  const startedMs = performance.now();
  const { success } = await new Deno.Command(Deno.execPath(), { args: [...args] }).output();
  if (!success) throw new Error(`deno ${args.join(" ")} failed`);
  return performance.now() - startedMs;
}

/** The time of the first 200 of a server that may not listen yet. @throws {Error} when it ends before */
async function firstAnswer(url: string, ended: Promise<unknown>): Promise<number> {
  let over = false;
  ended.then(() => over = true);
  while (!over) {
    const answer = await fetch(url).catch(() => null);
    await answer?.body?.cancel();
    if (answer?.ok) return performance.now();
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error(`${url}: the server has ended`);
}
