import { Buffer } from "node:buffer";
import { createHash, type Hash } from "node:crypto";
import type { CommandResult, OutputDigests } from "../protocol/protocol.ts";

/** Bytes of output kept of one command, and of all running commands together. */
export const OUTPUT_BYTES_MAX = 1024 * 1024;
const OUTPUT_BYTES_MAX_IN_ALL = 256 * 1024 * 1024;

type Stream = "stdout" | "stderr";

/** Receives the output of a command as it comes. */
export type OutputListener = (stream: Stream, data: string) => void;

/** The output of a running command so far, up to the limits. */
export class RunningOutput {
  stdout = "";
  stderr = "";
  truncated = false;
  #bytes = 0;
  /** Digests of everything in `output` frames, including what was not kept. */
  #came: { stdout?: Hash; stderr?: Hash } | null = null;
  #listeners: Set<OutputListener> | null = null;

  /** `all` counts the bytes of every running command. */
  constructor(private readonly all: { bytes: number }) {}

  /** Takes the data of an `output` frame. */
  take(stream: Stream, data: string): void {
    const came = this.#came ??= {};
    (came[stream] ??= createHash("sha256")).update(data);
    this.keep(stream, data);
  }

  /** Keeps output, within the limits. */
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

  /** Whether the output, with the tails in a result, has the digests that the result claims. */
  fits(result: CommandResult, claimed: OutputDigests): boolean {
    return isWhole(this.#came?.stdout, result.stdout, result.stdout_sha256, claimed.stdout) &&
      isWhole(this.#came?.stderr, result.stderr, result.stderr_sha256, claimed.stderr);
  }

  /** Calls `listener` with the kept and the future output; returns how to stop. */
  follow(listener: OutputListener): () => void {
    for (const stream of ["stdout", "stderr"] as const) {
      if (this[stream] !== "") listener(stream, this[stream]);
    }
    const listeners = this.#listeners ??= new Set();
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** Releases the bytes of this command. */
  drop(): void {
    this.all.bytes -= this.#bytes;
  }
}

function isWhole(came: Hash | undefined, tail = "", says: string | undefined, claimed: string) {
  // Without `output` frames and without a digest in the result, `claimed` was computed from the tail itself.
  if (came === undefined && says === undefined) return true;
  return (came?.copy() ?? createHash("sha256")).update(tail).digest("hex") === claimed;
}
