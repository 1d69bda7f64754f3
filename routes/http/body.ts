import { Fault } from "../../core/fault/fault.ts";
import type { Clock } from "../../core/ports/ports.ts";
import { arrivingChunks } from "./arriving.ts";
import { parseJson, TooManyParts } from "../call/parse_json.ts";
import { short } from "../call/input.ts";

/** The largest body in bytes of a route that declares none. */
export const BODY_BYTES_MAX = 1024 * 1024;

/** The parts of a relay that reading a body needs. */
interface Parts {
  readonly ports: { readonly clock: Clock };
  readonly settings: { readonly local: boolean };
}

/** How large a body may be. */
export interface BodyBounds {
  readonly bytesMax: number;
  /** Called before more than `bytesMax` is read; returns the most that may come in all. @throws {Fault} */
  readonly more?: () => number | Promise<number>;
  /** Called with the number of bytes read, or announced, whenever it grows. @throws {Fault} */
  readonly charge?: (bytes: number) => unknown;
  /** Checks a body of more than `bytesMax` before it is parsed. @throws {Fault} */
  readonly prove?: (bytes: Uint8Array) => Promise<void>;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i;

/**
 * Reads a JSON body; an empty one counts as `{}`. Other requests are served while a large one is parsed.
 * @throws {Fault} PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, REQUEST_TIMEOUT, VALIDATION_FAILED
 */
export async function readJson(
  parts: Parts,
  request: Request,
  bounds: BodyBounds,
  /** Gets the text as it came, which signatures cover. */
  keep: (text: string) => void = () => {},
): Promise<unknown> {
  const text = await readText(parts, request, bounds);
  keep(text);
  if (text.trim() === "") return {};
  mustBeJsonType(parts, request);
  try {
    return await parseJson(text);
  } catch (cause) {
    throw notJson(cause as Error);
  }
}

/** The fault of a body that cannot be parsed. */
function notJson(cause: Error): Fault {
  const wrong = cause instanceof TooManyParts ? "has too many parts" : "is not JSON";
  return new Fault("VALIDATION_FAILED", `The body ${wrong}: ${cause.message}`, {
    issues: [{ path: "body", message: wrong.replace(/^is /, "") }],
  }, { cause });
}

/**
 * Checks the Content-Type. Browsers let a page of another site send a body without a type, but not one of type
 * JSON. So a local relay requires the type; other relays read a body without one as JSON.
 * @throws {Fault} UNSUPPORTED_MEDIA_TYPE
 */
export function mustBeJsonType(
  { settings }: Pick<Parts, "settings">,
  { headers }: Request,
): void {
  const type = headers.get("content-type");
  if (type === null ? !settings.local : JSON_TYPE.test(type)) return;
  const message = type === null
    ? "Send `Content-Type: application/json` with the body."
    : `Send the body as application/json, not ${short(type)}.`;
  throw new Fault("UNSUPPORTED_MEDIA_TYPE", message);
}

/**
 * Reads a body as text, within its bounds.
 * @throws {Fault} PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE when it is compressed, REQUEST_TIMEOUT when it
 * stalls, VALIDATION_FAILED when it is not UTF-8 or breaks off
 */
export async function readText(
  { ports }: Pick<Parts, "ports">,
  request: Request,
  bounds: BodyBounds,
): Promise<string> {
  const coding = request.headers.get("content-encoding")?.toLowerCase() ?? "identity";
  if (coding !== "identity") {
    const message = `Send the body without Content-Encoding; ${short(coding)} is not supported.`;
    throw new Fault("UNSUPPORTED_MEDIA_TYPE", message);
  }
  const admit = boundsCheck(bounds);
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
  const message = `The body may hold at most ${bytesMax} bytes${otherwise}.`;
  return new Fault("PAYLOAD_TOO_LARGE", message, { limit_bytes: bytesMax });
}

/** A check of each size that a body reaches. */
function boundsCheck({ bytesMax, more, charge }: BodyBounds): (bytes: number) => Promise<void> {
  let most = bytesMax;
  return async (bytes) => {
    if (bytes > most && most === bytesMax && more !== undefined) most = await more();
    if (bytes > most) throw tooLarge(most);
    await charge?.(bytes);
  };
}

/** The whole body. @throws {Fault} of `admit` */
async function collect(
  clock: Clock,
  body: ReadableStream<Uint8Array> | null,
  admit: (bytes: number) => Promise<void>,
): Promise<Uint8Array> {
  if (body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of arrivingChunks(clock, body)) {
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
