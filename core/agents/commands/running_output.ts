import { Buffer } from "node:buffer";
import { createHash, type Hash } from "node:crypto";
import type { CommandResult, OutputDigests } from "../../protocol/protocol.ts";
import { OutputLog, type StreamName } from "./output_log.ts";

/** Bytes of output kept of one command, and of all running commands together. */
export const OUTPUT_BYTES_MAX = 1024 * 1024;
const OUTPUT_BYTES_MAX_IN_ALL = 256 * 1024 * 1024;
/** More than an agent sends in the longest run: 50 of each stream a second, for 600 s. */
const CHUNKS_MAX = 64 * 1024;
/** The memory of a chunk beside its data, which counts towards the maximum of all commands. */
const CHUNK_BYTES = 64;

/** The output of a running command so far, up to the limits. */
export class RunningOutput {
  readonly log = new OutputLog();
  truncated = false;
  /** The end is being recorded with what was kept until now, so readers must see no more. */
  sealed = false;
  #heldBytes = 0;
  /** Digests of everything in `output` frames, including what was not kept. */
  #came: { stdout?: Hash; stderr?: Hash } | null = null;

  /** `all` counts the bytes of every running command. */
  constructor(private readonly all: { bytes: number }) {}

  /** Takes the data of an `output` frame. */
  take(stream: StreamName, data: string): void {
    const came = this.#came ??= {};
    (came[stream] ??= createHash("sha256")).update(data);
    this.keep(stream, data);
  }

  /** Keeps output, within the limits. */
  keep(stream: StreamName, data: string): void {
    if (data === "" || this.sealed) return;
    // A frame may hold half a surrogate pair, which has no bytes of its own.
    const text = data.toWellFormed();
    const bytes = Buffer.byteLength(text);
    const { all, log } = this;
    const fits = log.bytes + bytes <= OUTPUT_BYTES_MAX && log.size < CHUNKS_MAX &&
      all.bytes + bytes <= OUTPUT_BYTES_MAX_IN_ALL;
    if (!fits) {
      this.truncated = true;
      return;
    }
    const before = log.size;
    log.append(stream, text, bytes);
    const heldBytes = bytes + (log.size - before) * CHUNK_BYTES;
    this.#heldBytes += heldBytes;
    all.bytes += heldBytes;
  }

  /** Whether the output, with the tails in a result, has the digests that the result claims. */
  fits(result: CommandResult, claimed: OutputDigests): boolean {
    return isWhole(this.#came?.stdout, result.stdout, result.stdout_sha256, claimed.stdout) &&
      isWhole(this.#came?.stderr, result.stderr, result.stderr_sha256, claimed.stderr);
  }

  /** Releases the bytes of this command. */
  drop(): void {
    this.all.bytes -= this.#heldBytes;
    this.#heldBytes = 0;
  }
}

function isWhole(came: Hash | undefined, tail = "", says: string | undefined, claimed: string) {
  // Without `output` frames and without a digest in the result, `claimed` was computed from the tail itself.
  if (came === undefined && says === undefined) return true;
  return (came?.copy() ?? createHash("sha256")).update(tail).digest("hex") === claimed;
}
