import { MASK } from "../../codec/codec.ts";
import { TRANSPORT_HEADERS } from "../../ports/ports.ts";
import { Fault } from "../../fault/fault.ts";
import type { Scope } from "../../identity/identity.ts";

/** Headers that a webhook's owner adds to each delivery, by name. */
export type CustomHeaders = Readonly<Record<string, string>>;

const MAX_HEADERS = 20;
const MAX_NAME_CHARS = 128;

/** Of all names and values: with Relay's own headers they stay under the 8 KiB that most servers accept. */
const MAX_TOTAL_CHARS = 4096;

/** RFC 9110, section 5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Visible ASCII, space and tab: no line break can start another header. */
const FIELD_VALUE = /^[\t\x20-\x7e]*$/;

/** Prefixes of headers that describe the body or prove the origin of a delivery. */
const RESERVED_PREFIXES = ["content-", "webhook-", "x-service-", "x-audit-", "svix-", "proxy-"];
const RESERVED_NAMES = new Set(["accept-encoding"]);

/** The headers as a caller sees them. A value may be a credential, so reading it requires `secrets:read`. */
export function visibleHeaders(rights: ReadonlySet<Scope>, headers: CustomHeaders): CustomHeaders {
  if (rights.has("secrets:read")) return headers;
  return Object.fromEntries(Object.keys(headers).map((name) => [name, MASK]));
}

/**
 * Replaces masks that a caller sends back by the stored values of the same names.
 * @throws {Fault} VALIDATION_FAILED for a mask without a stored value; `field` is what the request calls them
 */
export function unmaskHeaders(
  given: CustomHeaders,
  stored: CustomHeaders,
  field: string,
): CustomHeaders {
  const meant = ([name, value]: [string, string]) => {
    if (value !== MASK) return [name, value];
    if (Object.hasOwn(stored, name)) return [name, stored[name]];
    const issue = { path: `body.${field}.${name}`, message: "is a mask, but no value is stored" };
    throw new Fault("VALIDATION_FAILED", `${issue.path} ${issue.message}.`, { issues: [issue] });
  };
  return Object.fromEntries(Object.entries(given).map(meant));
}

/** The errors in the headers of a webhook, each as `headers.<name>: reason`; empty if valid. */
export function checkCustomHeaders(headers: CustomHeaders): string[] {
  const entries = Object.entries(headers);
  if (entries.length > MAX_HEADERS) {
    return [`headers: holds ${entries.length} headers, but at most ${MAX_HEADERS} are allowed`];
  }
  const totalChars = entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (totalChars > MAX_TOTAL_CHARS) {
    return [`headers: holds ${totalChars} characters, but at most ${MAX_TOTAL_CHARS} are allowed`];
  }
  const seen = new Set<string>();
  return entries.flatMap(([name, value]) => {
    const fault = faultOf(name, value, seen);
    seen.add(name.toLowerCase());
    return fault === null ? [] : [`headers.${name}: ${fault}`];
  });
}

/**
 * The headers to send. Signed headers take precedence, and reserved or malformed custom headers are left out even if
 * they were stored before the rule existed.
 */
export function mergeCustomHeaders(
  custom: CustomHeaders,
  signed: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const own = Object.entries(custom);
  if (own.length === 0) return signed;
  const taken = new Set(Object.keys(signed).map((name) => name.toLowerCase()));
  const merged: Record<string, string> = {};
  for (const [name, value] of own) {
    if (faultOf(name, value, taken) !== null) continue;
    taken.add(name.toLowerCase());
    merged[name] = value;
  }
  return { ...merged, ...signed };
}

function faultOf(name: string, value: string, taken: ReadonlySet<string>): string | null {
  if (!TOKEN.test(name)) return "is not a valid header name";
  if (name.length > MAX_NAME_CHARS) return `is longer than ${MAX_NAME_CHARS} characters`;
  if (isReserved(name.toLowerCase())) return "is set by Relay and cannot be replaced";
  if (taken.has(name.toLowerCase())) return "is given twice";
  if (!FIELD_VALUE.test(value)) return "may hold only visible ASCII characters, spaces and tabs";
  return null;
}

function isReserved(name: string): boolean {
  return TRANSPORT_HEADERS.has(name) || RESERVED_NAMES.has(name) ||
    RESERVED_PREFIXES.some((prefix) => name.startsWith(prefix));
}
