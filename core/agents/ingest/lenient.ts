import { fingerprintOf } from "../alerts/report.ts";
import {
  cut,
  isBounded,
  NAME_CHARS_MAX,
  NOTE_CHARS_MAX,
  PAYLOAD,
  readSent,
  type Sent,
} from "../alerts/sender_fields.ts";

const ANNOTATIONS_MAX = 16;
const ANNOTATION_CHARS_MAX = 500;

interface Options {
  /** Fields that the request has in another place. */
  readonly fixed?: Sent;
  /** Values for missing fields. */
  readonly defaults?: Sent;
}

/**
 * Reads an alert whose sender gets no error, because all senders get the same answer: unreadable fields get a
 * default and long ones are cut, so that the alert is not lost.
 */
export function readLenient(sent: unknown, { fixed = {}, defaults = {} }: Options): unknown {
  const read = readSent(sent, { fixed, lenient: true });
  if (read === sent) return sent;
  const item = read as Sent;
  const name = item.name || defaults.name;
  const { labels, annotations } = item;
  if (typeof name !== "string" || !isBounded(labels) || !isBounded(annotations)) return item;
  const wellFormed = wellFormedOf(labels as Texts);
  return {
    ...item,
    name: cut(name, NAME_CHARS_MAX),
    state: item.state ?? defaults.state,
    fingerprint: item.fingerprint ?? fingerprintOf(name.toWellFormed(), wellFormed),
    labels: wellFormed,
    annotations: shortened(annotations as Texts),
  };
}

/** Labels or annotations: lenient reading drops every value that is not text. */
type Texts = Readonly<Record<string, string>>;

const wellFormedOf = (labels: Texts) =>
  Object.fromEntries(Object.entries(labels).map((pair) => pair.map((text) => text.toWellFormed())));

/** The first annotations, each cut, and the payload. */
function shortened({ [PAYLOAD]: payload, ...others }: Texts) {
  const first = Object.entries(others).filter(([name]) => name !== "").slice(0, ANNOTATIONS_MAX);
  return {
    ...Object.fromEntries(
      first.map(([name, text]) => [cut(name, NAME_CHARS_MAX), cut(text, ANNOTATION_CHARS_MAX)]),
    ),
    ...(payload !== undefined && { [PAYLOAD]: cut(payload, NOTE_CHARS_MAX) }),
  };
}
