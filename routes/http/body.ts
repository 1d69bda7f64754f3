import type { App } from "../../core/work/work.ts";
import { Fault } from "../../core/fault/fault.ts";
import type { Clock } from "../../core/ports/ports.ts";
import { arriving } from "./arriving.ts";
import { parseJson, TooManyParts } from "../../core/work/parse_json.ts";
import { short } from "../call/input.ts";

/** What a route that says nothing takes. */
export const BODY_BYTES_MAX = 1024 * 1024;

/** How much of a body is taken. */
export interface BodyBounds {
  readonly bytesMax: number;
  /** Asked before more than `bytesMax` is read: how much may come in all. @throws {Fault} */
  readonly more?: () => number | Promise<number>;
  /** Told how many bytes will be read, or were, each time that it is more than before. @throws {Fault} */
  readonly charge?: (bytes: number) => unknown;
  /** Sees a body of more than `bytesMax` before it is parsed. @throws {Fault} */
  readonly prove?: (bytes: Uint8Array) => Promise<void>;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i;

/**
 * Reads a JSON body; none at all is the same as `{}`. Other requests are served while a large one is parsed.
 * @throws {Fault} PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, REQUEST_TIMEOUT, VALIDATION_FAILED
 */
export async function readJson(
  app: App,
  request: Request,
  bounds: BodyBounds,
  /** Gets the text as it came: what a signature is over. */
  keep: (text: string) => void = () => {},
): Promise<unknown> {
  const text = await readText(app, request, bounds);
  keep(text);
  if (text.trim() === "") return {};
  mustSayJson(app, request);
  try {
    return await parseJson(text);
  } catch (cause) {
    throw notJson(cause as Error);
  }
}

/** What is wrong with a body that was not parsed. */
function notJson(cause: Error): Fault {
  const wrong = cause instanceof TooManyParts ? "has too many parts" : "is not JSON";
  return new Fault("VALIDATION_FAILED", `The body ${wrong}: ${cause.message}`, {
    issues: [{ path: "body", message: wrong.replace(/^is /, "") }],
  }, { cause });
}

/**
 * A page of another site can send any body without a type, but none as JSON unless it is let in. So a local
 * relay insists on the type, where others take its absence for JSON.
 * @throws {Fault} UNSUPPORTED_MEDIA_TYPE for a body that says it is something else
 */
export function mustSayJson({ settings }: Pick<App, "settings">, { headers }: Request): void {
  const type = headers.get("content-type");
  if (type === null ? !settings.local : JSON_TYPE.test(type)) return;
  const message = type === null
    ? "Send `Content-Type: application/json` with the body."
    : `Send the body as application/json, not ${short(type)}.`;
  throw new Fault("UNSUPPORTED_MEDIA_TYPE", message);
}

/**
 * Reads a body as text, and no more of it than allowed.
 * @throws {Fault} PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE when it is compressed, REQUEST_TIMEOUT when it stops
 * coming, VALIDATION_FAILED when it is not UTF-8 or breaks off
 */
export async function readText(
  { ports }: Pick<App, "ports">,
  request: Request,
  bounds: BodyBounds,
): Promise<string> {
  const coding = request.headers.get("content-encoding")?.toLowerCase() ?? "identity";
  if (coding !== "identity") {
    const message = `Send the body as it is, without Content-Encoding: ${short(coding)}.`;
    throw new Fault("UNSUPPORTED_MEDIA_TYPE", message);
  }
  const admit = admission(bounds);
  const length = request.headers.get("content-length");
  if (length !== null) await admit(Number(length));
  const whole = await collect(ports.clock, request.body, admit);
  if (whole.length > bounds.bytesMax) await bounds.prove?.(whole);
  try {
    return utf8.decode(whole);
  } catch (cause) {
    throw new Fault("VALIDATION_FAILED", "The body is not UTF-8.", {
      issues: [{ path: "body", message: "not UTF-8" }],
    }, { cause });
  }
}

/** @throws {Fault} PAYLOAD_TOO_LARGE */
export function tooLarge(bytesMax: number, otherwise = ""): Fault {
  const message = `The body may have at most ${bytesMax} bytes${otherwise}.`;
  return new Fault("PAYLOAD_TOO_LARGE", message, { limit_bytes: bytesMax });
}

/** Says of each size that a body reaches whether it may. */
function admission({ bytesMax, more, charge }: BodyBounds): (bytes: number) => Promise<void> {
  let most = bytesMax;
  return async (bytes) => {
    if (bytes > most && most === bytesMax && more !== undefined) most = await more();
    if (bytes > most) throw tooLarge(most);
    await charge?.(bytes);
  };
}

/** A body, as far as it is allowed. */
async function collect(
  clock: Clock,
  body: ReadableStream<Uint8Array> | null,
  admit: (bytes: number) => Promise<void>,
): Promise<Uint8Array> {
  if (body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of arriving(clock, body)) {
    bytes += chunk.length;
    await admit(bytes);
    chunks.push(chunk);
  }
  return chunks.length === 1 ? chunks[0]! : concat(chunks, bytes);
}

function concat(chunks: readonly Uint8Array[], bytes: number): Uint8Array {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
