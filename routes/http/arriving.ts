import type { Clock } from "../../core/ports/ports.ts";
import { Fault } from "../../core/fault/fault.ts";

/** A client that sends nothing of its body for this long holds a connection and a place among the open ones. */
export const STALL_MS = 30_000;

/**
 * The pieces of a body as they come.
 * @throws {Fault} REQUEST_TIMEOUT when nothing comes for STALL_MS, VALIDATION_FAILED when it breaks off
 */
export async function* arriving(
  clock: Clock,
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  let reading: Promise<unknown> = Promise.resolve();
  try {
    for (;;) {
      const read = reader.read();
      reading = read.catch(() => {});
      const result = await unlessStalled(clock, read);
      if (result.done) return;
      yield result.value;
    }
  } finally {
    // The runtime frees the connection with the read: at the next byte, or when the client goes.
    reading.then(() => reader.cancel()).catch(() => {});
  }
}

async function unlessStalled<T>(clock: Clock, read: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const cancel = clock.after(STALL_MS, () => {
    const seconds = STALL_MS / 1000;
    const message = `Nothing of the body came for ${seconds} s. Send the request again.`;
    reject(new Fault("REQUEST_TIMEOUT", message, { stall_seconds: seconds }));
  });
  try {
    return await Promise.race([read.catch(brokenOff), promise]);
  } finally {
    cancel();
  }
}

/** A client that goes away in the middle of its body is no bug. */
function brokenOff(cause: unknown): never {
  throw new Fault("VALIDATION_FAILED", "The body broke off.", {
    issues: [{ path: "body", message: "broke off" }],
  }, { cause });
}
