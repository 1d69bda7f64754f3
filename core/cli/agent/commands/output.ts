import { MAX_OUTPUT_CHUNK_BYTES } from "../../../protocol/protocol.ts";

const encoder = new TextEncoder();
// Shared by all commands: it only measures how much text fits, and is never read.
const scratch = new Uint8Array(MAX_OUTPUT_CHUNK_BYTES);

export type Stream = "stdout" | "stderr";

/** Turns the bytes of a command's two pipes into bounded pieces of text. */
export interface OutputCutter {
  /** True when bytes beyond the budget arrived. */
  readonly truncated: boolean;
  /** Takes bytes of a pipe and passes full pieces to `emit`. */
  feed(stream: Stream, bytes: Uint8Array): void;
  /** Passes the incomplete pieces to `emit`. */
  flush(): void;
  /** Ends both streams and returns the rest: at most one piece of each. */
  finish(): Record<Stream, string>;
}

/**
 * Cuts output into pieces of at most 16 KiB of UTF-8 and keeps `maxBytes` of both streams in sum;
 * the rest is dropped and reported as truncated. Characters are never split, however the pipe cuts its bytes;
 * invalid UTF-8 becomes U+FFFD.
 */
export function cutOutput(
  maxBytes: number,
  emit: (stream: Stream, data: string) => void,
): OutputCutter {
  const pipes = { stdout: openPipe(), stderr: openPipe() };
  let left = maxBytes;
  let truncated = false;

  function openPipe() {
    return { decoder: new TextDecoder("utf-8", { ignoreBOM: true }), held: "", heldBytes: 0 };
  }

  function emitHeld(stream: Stream) {
    const pipe = pipes[stream];
    if (pipe.held === "") return;
    const data = pipe.held;
    pipe.held = "";
    pipe.heldBytes = 0;
    emit(stream, data);
  }

  function take(stream: Stream, text: string) {
    const pipe = pipes[stream];
    let rest = text;
    while (rest !== "") {
      const room = MAX_OUTPUT_CHUNK_BYTES - pipe.heldBytes;
      const { read, written } = encoder.encodeInto(rest, scratch.subarray(0, Math.min(room, left)));
      if (read > 0) {
        pipe.held += rest.slice(0, read);
        pipe.heldBytes += written;
        left -= written;
        rest = rest.slice(read);
      } else if (left <= room) {
        // The budget is spent: no shorter character may follow the one that did not fit.
        left = 0;
        truncated = true;
        return;
      } else {
        emitHeld(stream);
      }
    }
  }

  return {
    get truncated() {
      return truncated;
    },
    feed(stream, bytes) {
      if (left > 0) take(stream, pipes[stream].decoder.decode(bytes, { stream: true }));
      else if (bytes.length > 0) truncated = true;
    },
    flush() {
      emitHeld("stdout");
      emitHeld("stderr");
    },
    finish() {
      if (left > 0) {
        take("stdout", pipes.stdout.decoder.decode());
        take("stderr", pipes.stderr.decoder.decode());
      }
      return { stdout: pipes.stdout.held, stderr: pipes.stderr.held };
    },
  };
}
