import { type Client, clientOf, expectStatus } from "../clients/status_client.ts";
import { type Program, type ProgramOptions, startProgram } from "../../core/cli/program.ts";
import { startSeveral } from "../cluster/several.ts";

const MAIN = new URL("../../main.ts", import.meta.url).href;
/** Other tests may keep all cores busy while a process starts. */
export const START_MS = 30_000;

/** The program as its users start it, in a process of its own. */
export function startMain(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  options: Omit<ProgramOptions, "env"> = {},
): Program {
  return startProgram(args, { env, main: MAIN, ...options });
}

const FIXTURES = new URL("../fixtures/tls/", import.meta.url).pathname;
/** What makes a relay at `localhost` speak HTTPS. */
export const TLS_ENV = {
  RELAY_HOST: "localhost",
  RELAY_TLS_CERT: `${FIXTURES}localhost.pem`,
  RELAY_TLS_KEY: `${FIXTURES}localhost.key`,
} as const;
/** Who vouches for its certificate. */
export const AUTHORITY = `${FIXTURES}authority.pem`;

/** Clients of a relay, by credential, that trust the authority. */
export function trustingClients(url: string) {
  const http = Deno.createHttpClient({ caCerts: [Deno.readTextFileSync(AUTHORITY)] });
  return {
    client: (credential?: string): Client =>
      clientOf(url, credential, (to, init) => fetch(to, { ...init, client: http })),
    [Symbol.dispose]: () => http.close(),
  };
}

/** How many instances stand in for one relay: several share a denokv server. */
const INSTANCES = Deno.env.get("RELAY_TEST_DENOKV") === undefined
  ? 1
  : Number(Deno.env.get("RELAY_TEST_INSTANCES"));

/** A relay that says it is ready, and its address. */
export async function startRelayProcess(
  env: Readonly<Record<string, string>>,
  args: readonly string[] = ["serve"],
  main = MAIN,
): Promise<{ relay: Program; url: string; readyMs: number }> {
  const start = (env: Readonly<Record<string, string>>) => startOne(env, args, main);
  if (INSTANCES === 1) return await start(env);
  const several = await startSeveral(INSTANCES, start, env);
  return { ...several, readyMs: performance.now() };
}

async function startOne(
  env: Readonly<Record<string, string>>,
  args: readonly string[],
  main: string,
): Promise<{ relay: Program; url: string; readyMs: number }> {
  const where = { RELAY_HOST: "127.0.0.1", RELAY_PORT: "0", ...env };
  const relay = startProgram(args, { env: where, main });
  try {
    const [, url] = await relay.line(/ is ready at (\S+)$/, START_MS);
    return { relay, url: url!, readyMs: performance.now() };
  } catch (error) {
    await relay.kill();
    throw error;
  }
}

/** The first organization's owner. */
export async function signUpOwner(anonymous: Client): Promise<string> {
  const account = { email: "a@example.com", password: "correct horse 7", organization: "A" };
  const answer = await anonymous<{ token: string }>("POST", "/api/v1/signup", account);
  return expectStatus(answer, 201, "signing up").token;
}

/** An API key's value. */
export async function makeKey(owner: Client, scopes: readonly string[]): Promise<string> {
  const answer = await owner<{ key: string }>("POST", "/api/v1/api-keys", { name: "k", scopes });
  return expectStatus(answer, 201, "making a key").key;
}

/** A folder that is gone when the test is over. */
export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await Deno.makeTempDir({ prefix: "relay-test-" });
  try {
    return await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** True when a program is on the path and runs. Tests that need one name it, so that a skipped test tells its reason. */
export function isInstalled(program: string, version = "--version"): boolean {
  try {
    return new Deno.Command(program, { args: [version], stdout: "null", stderr: "null" })
      .outputSync().success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Runs a program with a text as its input. Returns whether it succeeded, and what it wrote. */
export async function runProgram(
  program: string,
  args: readonly string[],
  input = "",
): Promise<{ readonly success: boolean; readonly text: string }> {
  const process = new Deno.Command(program, {
    args: [...args],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = process.stdin.getWriter();
  await writer.write(new TextEncoder().encode(input));
  await writer.close();
  const { success, stdout, stderr } = await process.output();
  const decoder = new TextDecoder();
  return { success, text: decoder.decode(stdout) + decoder.decode(stderr) };
}
