import type { Clock } from "../../core/ports/ports.ts";
import { Fault } from "../../core/fault/fault.ts";
import { sourceOf } from "./body_source.ts";

/** The longest pause in a body. A client that stalls would occupy a connection. */
export const STALL_MS = 30_000;

/** How long a connection stays open after a stall, so that the 408 leaves before it closes. */
export const LINGER_MS = 1000;

/**
 * The chunks of a body as they arrive.
 * @throws {Fault} REQUEST_TIMEOUT after a pause of STALL_MS, VALIDATION_FAILED when the body breaks off
 */
export async function* arrivingChunks(
  clock: Clock,
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const source = await sourceOf(body);
  const free = () => source.free().catch(() => {});
  let failed = false;
  try {
    for (;;) {
      const result = await unlessStalled(clock, source.read());
      if (result.done) return;
      yield result.value;
    }
  } catch (fault) {
    failed = true;
    throw fault;
  } finally {
    await source.stop();
    if (failed) clock.after(LINGER_MS, free);
    else await free();
  }
}

async function unlessStalled<T>(clock: Clock, read: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const cancel = clock.after(STALL_MS, () => {
    const seconds = STALL_MS / 1000;
    const message = `No data arrived for ${seconds} s. Send the request again.`;
    reject(new Fault("REQUEST_TIMEOUT", message, { stall_seconds: seconds }));
  });
  try {
    return await Promise.race([read.catch(brokenOff), promise]);
  } finally {
    cancel();
  }
}

/** The fault of a client that leaves in the middle of its body, which is not a bug. */
function brokenOff(cause: unknown): never {
  throw new Fault("VALIDATION_FAILED", "The body ended early.", {
    issues: [{ path: "body", message: "ended early" }],
  }, { cause });
}
