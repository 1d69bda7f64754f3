import { hash } from "node:crypto";
import { z } from "zod";
import { isObject } from "../../codec/codec.ts";
import { severityOf, stateOf } from "./scales.ts";

/** A field of an alert: the names that senders use for it, Relay's own first, and how a value is read. */
interface Field {
  readonly names: readonly string[];
  /** The label that replaces a missing field. */
  readonly label?: string;
  /** Text under another name is cut to this length, and also kept whole if it is one of `NOTES`. */
  readonly charsMax?: number;
  /** The value as the import takes it, or undefined when it cannot be read. */
  readonly read: (value: unknown) => string | undefined;
}

export const NAME_CHARS_MAX = 200;

/** The import, Alertmanager's webhooks and generic webhooks all read alerts by this table. */
const FIELDS = {
  name: {
    names: ["name", "title", "alertname", "alert_name", "rule_name", "event", "summary", "message"],
    label: "alertname",
    charsMax: NAME_CHARS_MAX,
    read: textOf,
  },
  severity: {
    names: ["severity", "level", "priority", "urgency"],
    label: "severity",
    read: severityOf,
  },
  state: { names: ["state", "status"], read: stateOf },
  fingerprint: { names: ["fingerprint", "id", "alert_id", "dedup_key"], read: fingerprintIn },
  agent_id: { names: ["agent_id"], label: "agent_id", read: idOf },
  starts_at: {
    names: ["starts_at", "startsAt", "started_at", "timestamp", "time", "created_at"],
    read: instantOf,
  },
  ends_at: { names: ["ends_at", "endsAt", "ended_at", "resolved_at"], read: instantOf },
} as const satisfies Readonly<Record<string, Field>>;
type FieldName = keyof typeof FIELDS;

/** Texts for people, kept as annotations of the same name. */
const NOTES = ["title", "summary", "message", "description", "url", "generatorURL"];
/** The annotation that keeps everything else, as JSON. */
export const PAYLOAD = "payload";
export const NOTE_CHARS_MAX = 2_000;
/** Characters of the labels and annotations of one alert, so that a batch fits one commit. */
export const TEXT_CHARS_MAX = 16_000;
export const ENTRIES_MAX = 64; // labels, annotations, fields of the payload

/** An alert under the names of the import, before it is checked. */
export type Sent = Partial<Record<FieldName | "labels" | "annotations", unknown>>;

interface Options {
  /** Fields that the request has in another place. */
  readonly fixed?: Sent;
  /**
   * True when the sender gets no error: an unreadable value gets its default and is kept in the payload. Otherwise
   * the check refuses it.
   */
  readonly lenient?: boolean;
}

/** Reads an alert in its sender's form; the check refuses anything but an object. */
export function readSent(sent: unknown, { fixed = {}, lenient = false }: Options = {}): unknown {
  if (!isObject(sent)) return sent;
  const labels = textsOf(sent.labels, lenient), annotations = textsOf(sent.annotations, lenient);
  const used = new Set(["labels", "annotations"]);
  const item: Sent = { ...fixed, labels };
  for (const [field, how] of Object.entries<Field>(FIELDS) as [FieldName, Field][]) {
    if (field in fixed) continue;
    item[field] = take(sent, used, field, how, lenient) ?? labelled(labels, how);
  }
  return { ...item, annotations: withNotes(labels, annotations, restOf(sent, used)) };
}

/** The value of a field under the first of its names that can be read; notes that name as used. */
function take(
  sent: Readonly<Record<string, unknown>>,
  used: Set<string>,
  field: string,
  { names, read, charsMax = Infinity }: Field,
  lenient: boolean,
): unknown {
  for (const name of names) {
    const value = sent[name];
    if (isEmpty(value)) continue;
    const known = read(value);
    if (name !== field || lenient) {
      if (known === undefined) continue;
      if (known.length > charsMax) return cut(known, charsMax);
    }
    used.add(name);
    return known ?? value;
  }
  return undefined;
}

/** True for an empty value; Go's zero time counts as empty. */
const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === "" ||
  typeof value === "string" && value.startsWith("0001-01-01T00:00:00");

/** The first unused fields; a body may have a million. */
function restOf(
  sent: Readonly<Record<string, unknown>>,
  used: ReadonlySet<string>,
): Map<string, unknown> {
  const rest = new Map<string, unknown>();
  for (const name in sent) {
    if (used.has(name) || isEmpty(sent[name])) continue;
    rest.set(name, sent[name]);
    if (rest.size === ENTRIES_MAX) break;
  }
  return rest;
}

const labelled = (labels: unknown, { label, read }: Field): unknown =>
  label !== undefined && isObject(labels) ? read(labels[label]) : undefined;

/** The annotations with the unused fields, as far as they fit. */
function withNotes(labels: unknown, annotations: unknown, rest: Map<string, unknown>): unknown {
  if (!isBounded(labels) || !isBounded(annotations)) return annotations;
  const all = { ...annotations };
  let charsLeft = TEXT_CHARS_MAX - charsOf(labels) - charsOf(all);
  const add = (name: string, text: string) => {
    const kept = cut(text, Math.min(NOTE_CHARS_MAX, charsLeft - name.length));
    if (kept === "" || Object.hasOwn(all, name) || Object.keys(all).length >= ENTRIES_MAX) return;
    charsLeft -= name.length + kept.length;
    all[name] = kept;
  };
  for (const name of NOTES) {
    const text = textOf(rest.get(name));
    if (text === undefined) continue;
    rest.delete(name);
    add(name, text);
  }
  if (rest.size > 0) add(PAYLOAD, JSON.stringify(Object.fromEntries(rest)));
  return all;
}

/** True for an object with at most `ENTRIES_MAX` entries; the check refuses a larger one unread. */
export const isBounded = (value: unknown): value is Record<string, unknown> =>
  isObject(value) && Object.keys(value).length <= ENTRIES_MAX;

/** The number of characters of names and texts. */
export const charsOf = (entries: Readonly<Record<string, unknown>>): number =>
  Object.entries(entries).reduce(
    (sum, [name, text]) => sum + name.length + (typeof text === "string" ? text.length : 0),
    0,
  );

/** An object with numbers and booleans as texts and without nulls; lenient reading also drops other values. */
function textsOf(value: unknown, lenient: boolean): unknown {
  if (value === undefined || value === null) return {};
  if (!isBounded(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, said]) => {
      const text = textOf(said) ?? (lenient ? null : said);
      return text === null ? [] : [[name, text]];
    }),
  );
}

function textOf(value: unknown): string | undefined {
  return ["string", "number", "boolean"].includes(typeof value) ? String(value) : undefined;
}

/** The sender's own name of an alert; any other form than an id is hashed. */
function fingerprintIn(value: unknown): string | undefined {
  const name = textOf(value)?.toWellFormed();
  return name && (idOf(name) ?? hash("sha256", name).slice(0, 32));
}

/** An id of visible ASCII characters; undefined for any other value. */
function idOf(value: unknown): string | undefined {
  return typeof value === "string" && /^[\x21-\x7e]{1,128}$/.test(value) ? value : undefined;
}

const Iso = z.union([z.iso.datetime({ offset: true, local: true }), z.iso.date()]);
/** Unix times below are seconds, from it on milliseconds: the year 5138 and March 1973. */
const SECONDS_MAX = 1e11;
/** The last instant whose year has four digits. */
const INSTANT_MAX_MS = Date.UTC(10_000, 0) - 1;

/** An instant in ISO 8601, UTC unless it says another zone, or as Unix time. */
function instantOf(value: unknown): string | undefined {
  const ms = typeof value === "number" ? fromUnix(value) : fromIso(value);
  return ms <= INSTANT_MAX_MS ? new Date(ms).toISOString() : undefined;
}

const fromUnix = (time: number): number =>
  time < 0 ? NaN : Math.round(time < SECONDS_MAX ? time * 1000 : time);

function fromIso(text: unknown): number {
  if (typeof text !== "string" || !Iso.safeParse(text).success) return NaN;
  const hasZone = !text.includes("T") || /(Z|[+-]\d\d:\d\d)$/.test(text);
  return Date.parse(hasZone ? text : `${text}Z`);
}

/** Text for people, cut: losing its end is better than losing the alert. */
export const cut = (text: string, charsMax: number): string =>
  text.slice(0, Math.max(0, charsMax)).toWellFormed();
