import { RelayError } from "./error.ts";
import type { Platform } from "./platform.ts";
import { backoffMs } from "./retry.ts";
import { EventParser, type StreamEvent } from "./sse.ts";

/** A stream without its beginning or a heartbeat for this long counts as lost. */
const SILENCE_MS = 60_000;
/** Failures in a row, without an event between them, after which the reader gives up. */
const FAILURES_MAX = 10;

/** How a stream is opened and read. */
export interface StreamOptions {
  /** Opens the stream after an event; null for the beginning. @throws {RelayError} */
  readonly open: (lastEventId: string | null, signal: AbortSignal) => Promise<Response>;
  readonly lastEventId: string | null;
  /** True when `open` may have another credential than before. */
  readonly renewsToken: boolean;
  /** Method and path, for errors. */
  readonly path: string;
  readonly signal: AbortSignal;
  readonly platform: Platform;
}

/**
 * The events of a stream, one after the other. A lost connection is opened again after the last event. Nothing is read
 * ahead of the caller beyond one chunk. It ends when the signal is aborted or the caller leaves the loop.
 * @throws {RelayError} when the relay refuses, ends the stream for good, or stays away
 */
export async function* followStream(options: StreamOptions): AsyncGenerator<StreamEvent, void> {
  const { platform, signal } = options;
  let lastEventId = options.lastEventId, failures = 0;
  while (!signal.aborted) {
    const connection = new AbortController();
    let waitMs: number | null;
    try {
      const both = AbortSignal.any([signal, connection.signal]);
      const response = await unlessSilent(options.open(lastEventId, both), platform, both);
      const parser = new EventParser(lastEventId, options.path);
      for await (const text of chunks(response?.body ?? null, platform, both)) {
        for (const event of parser.read(text)) {
          lastEventId = event.id;
          failures = 0;
          mustGoOn(event, options);
          yield event;
          if (signal.aborted) return;
        }
      }
      throw new RelayError("The stream was interrupted.", {
        status: 0,
        code: "UNREACHED",
        path: options.path,
        retryAfterMs: parser.retryMs,
      });
    } catch (error) {
      if (signal.aborted) return;
      if (!isPassing(error) || ++failures >= FAILURES_MAX) throw error;
      waitMs = error.retryAfterMs;
    } finally {
      connection.abort();
    }
    // A stream that was just cut is resumed soon, since somebody watches it.
    await platform.sleep(waitMs ?? backoffMs(failures - 1, platform.random()), signal);
  }
}

/** The text of a body as it arrives; ends when it ends, is lost, or stays silent. */
async function* chunks(
  body: Response["body"],
  platform: Platform,
  signal: AbortSignal,
): AsyncGenerator<string> {
  if (body === null) return;
  const reader = body.getReader();
  const decoder = new TextDecoder();
  try {
    while (true) {
      const read = await unlessSilent(reader.read().catch(() => null), platform, signal);
      if (read === null || read.done) return;
      yield decoder.decode(read.value, { stream: true });
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** What the relay sends next; null after a silence, or when the signal is aborted. */
async function unlessSilent<T>(
  next: Promise<T>,
  platform: Platform,
  signal: AbortSignal,
): Promise<T | null> {
  const heard = new AbortController();
  const silent = platform.sleep(SILENCE_MS, AbortSignal.any([signal, heard.signal]));
  try {
    return await Promise.race([next, silent.then(() => null)]);
  } finally {
    heard.abort();
  }
}

/** Refuses to resume after an end that says not to. A renewed credential may go on where an expired one ended. */
function mustGoOn(
  { event, data }: StreamEvent,
  { path, renewsToken }: Pick<StreamOptions, "path" | "renewsToken">,
): void {
  if (event !== "end") return;
  const { name, then, message } = data as Readonly<Record<string, unknown>>;
  if (then === undefined || then === "resume") return;
  if (name === "credential_ended" && renewsToken) return;
  const details = data as Readonly<Record<string, unknown>>;
  throw new RelayError(`${message} To go on: ${then}.`, {
    status: 0,
    code: "STREAM_ENDED",
    path,
    details,
  });
}

const isPassing = (error: unknown): error is RelayError =>
  error instanceof RelayError &&
  (error.code === "UNREACHED" || error.status === 429 || error.status >= 500);
