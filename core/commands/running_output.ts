import { Buffer } from "node:buffer";
import { createHash, type Hash } from "node:crypto";
import type { CommandResult } from "../protocol/protocol.ts";
import type { OutputDigests } from "../protocol/statements.ts";

/** Output kept of one command, and of all commands under way together. */
export const OUTPUT_BYTES_MAX = 1024 * 1024;
const OUTPUT_BYTES_MAX_IN_ALL = 256 * 1024 * 1024;

type Stream = "stdout" | "stderr";

/** Gets what a command writes, as it comes. */
export type OutputListener = (stream: Stream, data: string) => void;

/** What a command under way has written so far, as far as there is room for it. */
export class RunningOutput {
  stdout = "";
  stderr = "";
  truncated = false;
  #bytes = 0;
  /** Over all that came in `output` frames, also what was not kept. */
  #came: { stdout?: Hash; stderr?: Hash } | null = null;
  #listeners: Set<OutputListener> | null = null;

  /** `all` counts the bytes of every command under way. */
  constructor(private readonly all: { bytes: number }) {}

  /** An `output` frame has come. */
  take(stream: Stream, data: string): void {
    const came = this.#came ??= {};
    (came[stream] ??= createHash("sha256")).update(data);
    this.keep(stream, data);
  }

  /** Keeps what was written. */
  keep(stream: Stream, data: string): void {
    if (data === "") return;
    const bytes = Buffer.byteLength(data);
    const fits = this.#bytes + bytes <= OUTPUT_BYTES_MAX &&
      this.all.bytes + bytes <= OUTPUT_BYTES_MAX_IN_ALL;
    if (!fits) {
      this.truncated = true;
      return;
    }
    this.#bytes += bytes;
    this.all.bytes += bytes;
    this[stream] += data;
    this.#listeners?.forEach((listener) => listener(stream, data));
  }

  /** Whether what came, with the tails that a result brings, has the digests that are claimed of it. */
  fits(result: CommandResult, claimed: OutputDigests): boolean {
    return isWhole(this.#came?.stdout, result.stdout, result.stdout_sha256, claimed.stdout) &&
      isWhole(this.#came?.stderr, result.stderr, result.stderr_sha256, claimed.stderr);
  }

  /** Tells what is kept and what comes; answers how to stop that. */
  follow(listener: OutputListener): () => void {
    for (const stream of ["stdout", "stderr"] as const) {
      if (this[stream] !== "") listener(stream, this[stream]);
    }
    const listeners = this.#listeners ??= new Set();
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** Makes room for others. */
  drop(): void {
    this.all.bytes -= this.#bytes;
  }
}

function isWhole(came: Hash | undefined, tail = "", says: string | undefined, claimed: string) {
  // Without earlier output the claim is the digest of the tail itself, unless it says otherwise.
  if (came === undefined && says === undefined) return true;
  return (came?.copy() ?? createHash("sha256")).update(tail).digest("hex") === claimed;
}
