import { V8_FLAGS } from "../../core/cli/program.ts";

/** Processes and figures that the benchmarks share. */
export interface Measured {
  readonly answered: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly statuses: Readonly<Record<string, number>>;
}

/** This folder. */
export const HERE = new URL(".", import.meta.url).pathname;
/** The repository. */
export const ROOT = new URL("../../", import.meta.url).pathname;
const children: { kill(signal: Deno.Signal): unknown }[] = [];

/** A child process that is ready. */
export interface Started<T> {
  /** The JSON line that it printed then. */
  readonly ready: T;
  readonly child: Deno.ChildProcess;
  /** What it prints afterwards. */
  readonly rest: ReadableStreamDefaultReader<string>;
}

/**
 * Starts `script`, which is relative to this folder or absolute, with the packages of `config` and these flags of V8,
 * and waits for the JSON line that it prints when it is ready.
 */
export async function start<T>(
  script: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
  config = `${ROOT}deno.json`,
  stdin: "null" | "piped" = "null",
  flags = V8_FLAGS,
): Promise<Started<T>> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--no-check",
      `${flags},--expose-gc`,
      "--config",
      config,
      new URL(script, import.meta.url).pathname,
      ...args,
    ],
    env,
    stdin,
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  children.push(child);
  let text = "";
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  while (!text.includes("\n")) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`${script} ended before it was ready`);
    text += value;
  }
  return { ready: JSON.parse(text.slice(0, text.indexOf("\n"))), child, rest: reader };
}

/** The JSON lines that a child prints once it is ready. */
export async function* lines<T>({ rest }: Started<unknown>): AsyncGenerator<T> {
  let text = "";
  for (;;) {
    const { done, value } = await rest.read();
    if (done) return;
    const parts = (text + value).split("\n");
    text = parts.pop()!;
    for (const part of parts) yield JSON.parse(part);
  }
}

/** Also ends what was started in another way. */
export const endToo = (child: { kill(): unknown }): unknown => children.push(child);

/** Ends every child. */
export function endAll(): void {
  // What was started last goes first: a relay goes before its database server.
  for (const child of children.splice(0).reverse()) {
    try {
      child.kill("SIGTERM");
    } catch {
      // It has ended already.
    }
  }
}

/** Sends load from a process of its own to one port, or by turns to several. */
export async function measure(
  to: number | readonly number[],
  connections: number,
  seconds: number,
  requests: readonly string[],
): Promise<Measured> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", `${HERE}load.ts`],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(
    new TextEncoder().encode(
      JSON.stringify({ ports: [to].flat(), connections, seconds, requests }),
    ),
  );
  await writer.close();
  return JSON.parse(new TextDecoder().decode((await child.output()).stdout));
}

/** @throws {Error} when a request was refused: its figures would be those of something else */
export function mustAll({ statuses }: Measured, expected: string): void {
  const others = Object.keys(statuses).filter((status) => status !== expected);
  if (others.length > 0) throw new Error(`answers were ${JSON.stringify(statuses)}`);
}

/** A whole GET request. */
export const get = (path: string, headers: Readonly<Record<string, string>> = {}): string =>
  [
    `GET ${path} HTTP/1.1`,
    "Host: 127.0.0.1",
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    "",
    "",
  ].join("\r\n");

/** A whole POST request with a JSON body. */
export const post = (
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): string => {
  const text = JSON.stringify(body);
  return [
    `POST ${path} HTTP/1.1`,
    "Host: 127.0.0.1",
    "Content-Type: application/json",
    `Content-Length: ${text.length}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    "",
    text,
  ].join("\r\n");
};

export const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[numbers.length >> 1]!;

/** The unit of times in /proc. */
const TICK_MS = 10;

/** How long the threads of a process were on a processor, in ms. */
export function cpuMsOf(pid: number): number {
  const fields = Deno.readTextFileSync(`/proc/${pid}/stat`).split(") ")[1]!.split(" ");
  const [user, system] = [fields[11], fields[12]];
  return (Number(user) + Number(system)) * TICK_MS;
}

/** Resident memory of a process, in KiB. */
export function residentKiB(pid: number): number {
  const status = Deno.readTextFileSync(`/proc/${pid}/status`);
  return Number(/VmRSS:\s+(\d+)/.exec(status)![1]);
}
