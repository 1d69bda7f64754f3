import { type Program, startProgram } from "../../core/cli/program.ts";
import { TOKEN } from "../cluster/denokv.ts";
import { START_MS } from "../support/processes.ts";

/** How many isolates the platform runs for requests. */
const ISOLATES = 3;

const path = (name: string) => new URL(name, import.meta.url).pathname;
/** Code is loaded when it is needed. */
const OWN_FILES = `--allow-read=${path("../..")}`;
/** The least that main.ts needs where it is hosted; docs/deploy.md names them. */
const PERMISSIONS = ["--no-prompt", "--allow-env", "--allow-net"];

/** What every isolate finds in its environment. */
const platformEnv = (env: Readonly<Record<string, string>>) => ({
  DENO_DEPLOYMENT_ID: "rehearsal",
  DENO_SERVE_ADDRESS: "tcp:127.0.0.1:0",
  DENO_KV_ACCESS_TOKEN: TOKEN,
  ...env,
});

/** Where isolates keep their store: the address of a denokv server, or a file that workers share. */
export type SharedStore = { readonly server: string } | { readonly file: string };

/** Isolates that listen. */
export interface Isolates {
  readonly urls: readonly string[];
  readonly programs: readonly Program[];
}

/**
 * Starts main.ts as the platform does: each isolate a process without arguments, or a worker. Prints their cold starts,
 * from the start of the process to the first answer that needs the store.
 */
export async function startIsolates(
  store: SharedStore,
  env: Readonly<Record<string, string>>,
  count = ISOLATES,
): Promise<Isolates> {
  const startedMs = performance.now();
  const programs = "server" in store
    ? Array.from({ length: count }, () => startIsolate(store.server, env))
    : [startWorkers(store.file, { ...env, REHEARSAL_ISOLATES: `${count}` })];
  const each = count / programs.length;
  const urls = (await Promise.all(programs.map((program) => addresses(program, each)))).flat();
  const coldMs = await Promise.all(urls.map(async (url) => {
    const response = await fetch(`${url}/health`);
    const health = await response.json();
    if (health.status !== "ok") {
      const told = programs.flatMap(({ lines }) => lines).join("\n");
      throw new Error(`${url}: ${response.status} ${JSON.stringify(health)}\n${told}`);
    }
    return Math.round(performance.now() - startedMs);
  }));
  console.log(`cold starts, ${count} at once: ${coldMs.join(", ")} ms`);
  return { urls, programs };
}

/** One isolate in a process of its own. */
export function startIsolate(store: string, env: Readonly<Record<string, string>>): Program {
  return startProgram([], {
    main: path("../../main.ts"),
    permissions: [...PERMISSIONS, OWN_FILES, `--preload=${path("platform.ts")}`],
    env: platformEnv({ REHEARSAL_STORE: store, ...env }),
  });
}

/** Workers open the shared file; nothing else is readable or writable. */
function startWorkers(file: string, env: Readonly<Record<string, string>>): Program {
  const files = [file, `${file}-wal`, `${file}-shm`].join(",");
  const reads = `${OWN_FILES},${files}`;
  return startProgram([], {
    main: path("isolates.ts"),
    permissions: [...PERMISSIONS, reads, `--allow-write=${files}`],
    env: platformEnv({ REHEARSAL_STORE: file, ...env }),
  });
}

/** The addresses of the isolates of one process. */
export async function addresses(program: Program, count: number): Promise<string[]> {
  const urls: string[] = [];
  while (urls.length < count) {
    const [, url] = await program.line(/^Listening on (\S+)\/ *$/, START_MS);
    urls.push(url!);
  }
  return urls;
}
