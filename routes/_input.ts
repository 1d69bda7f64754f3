import { z } from "zod";
import type { App } from "../core/app.ts";
import { Fault } from "../core/fault.ts";
import type { Clock } from "../core/ports.ts";
import { arriving } from "./_arriving.ts";
import type { Route } from "./_route.ts";

/** What a route that says nothing takes. */
export const BODY_BYTES_MAX = 1024 * 1024;
/** Faults that one answer tells; a body of a megabyte may have a hundred thousand. */
const ISSUES_MAX = 100;
/** Characters of each, and of the path to it, which the caller chose. */
const ISSUE_CHARS_MAX = 500;
const NO_QUERY = z.strictObject({});

/** What is not there, and what is no number in a query, said in people's words. */
z.config({
  customError: ({ code, input }) => {
    if (code !== "invalid_type") return undefined;
    if (input === undefined) return "is missing";
    return Number.isNaN(input) ? "must be a whole number in decimal digits" : undefined;
  },
});

const utf8 = new TextDecoder("utf-8", { fatal: true });
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i;

/**
 * Checks one part of the input against its schema.
 * @throws {Fault} VALIDATION_FAILED with the path of each fault
 */
export function parse(schema: z.ZodType, value: unknown, where: string): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issues = result.error.issues.slice(0, ISSUES_MAX).map((issue) => ({
    path: short([where, ...issue.path].join(".")),
    message: short(messageOf(issue)) + knownNames(schema, issue),
  }));
  const first = issues[0]!;
  throw new Fault("VALIDATION_FAILED", `${first.path}: ${first.message}`, { issues });
}

/** What is wrong; of a name that cannot be one, why; of what fits no alternative, what each would want. */
function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_key") return `${issue.message}: ${issue.issues[0]?.message ?? ""}`;
  if (issue.code !== "invalid_union") return issue.message;
  const wanted = issue.errors.flatMap(([first]) => first === undefined ? [] : [first.message]);
  return wanted.length === 0 ? issue.message : [...new Set(wanted)].join("; or: ");
}

/** Behind a name that nobody knows, those that are known. */
function knownNames(schema: z.ZodType, { code, path }: z.core.$ZodIssue): string {
  if (code !== "unrecognized_keys" || path.length > 0 || !(schema instanceof z.ZodObject)) {
    return "";
  }
  const names = Object.keys(schema.shape);
  return `; known here: ${names.length === 0 ? "none" : names.join(", ")}`;
}

const short = (text: string): string =>
  text.length <= ISSUE_CHARS_MAX ? text : `${text.slice(0, ISSUE_CHARS_MAX).toWellFormed()}…`;

/** Parameters that HTTP libraries and links add for caches and statistics: every endpoint ignores them. */
const isNoise = (name: string): boolean => name === "_" || name.startsWith("utm_");

/**
 * The query that a route reads: one value of each name, without the names that it ignores.
 * @throws {Fault} VALIDATION_FAILED when a name has two values
 */
export function queryFor(
  route: Pick<Route, "query" | "ignoresUnknownQuery">,
  values: Readonly<Record<string, readonly string[]>>,
): Record<string, string> {
  const query: Record<string, string> = Object.create(null);
  const known = route.query?.shape ?? {};
  for (const name in values) {
    if (isNoise(name) || route.ignoresUnknownQuery && !Object.hasOwn(known, name)) continue;
    const [value, another] = values[name]!;
    if (another !== undefined) {
      const issue = { path: short(`query.${name}`), message: "is there more than once" };
      const message = `${issue.path} ${issue.message}.`;
      throw new Fault("VALIDATION_FAILED", message, { issues: [issue] });
    }
    query[name] = value!;
  }
  return query;
}

/** The query of a request outside the route table. @throws {Fault} VALIDATION_FAILED when a name has two values */
export function queryOf({ url }: Request): Record<string, string> {
  const values: Record<string, string[]> = Object.create(null);
  for (const [name, value] of new URL(url).searchParams) (values[name] ??= []).push(value);
  return queryFor({}, values);
}

/**
 * Checks the query of what takes none: a misspelt or misplaced parameter is told everywhere.
 * @throws {Fault} VALIDATION_FAILED
 */
export function parseNoQuery(query: Readonly<Record<string, unknown>>): unknown {
  for (const _ in query) return parse(NO_QUERY, query, "query");
  return query;
}

/**
 * Reads a JSON body; none at all is the same as `{}`.
 * @throws {Fault} PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, REQUEST_TIMEOUT, VALIDATION_FAILED
 */
export async function readJson(
  app: App,
  request: Request,
  bytesMax = BODY_BYTES_MAX,
  /** Gets the text as it came: what a signature is over. */
  keep: (text: string) => void = () => {},
): Promise<unknown> {
  const text = await readText(app, request, bytesMax);
  keep(text);
  if (text.trim() === "") return {};
  mustSayJson(app, request);
  try {
    return JSON.parse(text);
  } catch (cause) {
    const message = `The body is not JSON: ${(cause as Error).message}`;
    throw new Fault("VALIDATION_FAILED", message, {
      issues: [{ path: "body", message: "not JSON" }],
    }, { cause });
  }
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
  bytesMax = BODY_BYTES_MAX,
): Promise<string> {
  const coding = request.headers.get("content-encoding")?.toLowerCase() ?? "identity";
  if (coding !== "identity") {
    const message = `Send the body as it is, without Content-Encoding: ${short(coding)}.`;
    throw new Fault("UNSUPPORTED_MEDIA_TYPE", message);
  }
  const tooLarge = () =>
    new Fault("PAYLOAD_TOO_LARGE", `The body may have at most ${bytesMax} bytes.`, {
      limit_bytes: bytesMax,
    });
  const length = request.headers.get("content-length");
  if (length !== null && Number(length) > bytesMax) throw tooLarge();
  const whole = await collect(ports.clock, request.body, bytesMax, tooLarge);
  try {
    return utf8.decode(whole);
  } catch (cause) {
    throw new Fault("VALIDATION_FAILED", "The body is not UTF-8.", {
      issues: [{ path: "body", message: "not UTF-8" }],
    }, { cause });
  }
}

/** A body, as far as it is allowed. */
async function collect(
  clock: Clock,
  body: ReadableStream<Uint8Array> | null,
  bytesMax: number,
  tooLarge: () => Fault,
): Promise<Uint8Array> {
  if (body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of arriving(clock, body)) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw tooLarge();
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
