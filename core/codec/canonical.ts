/** Deeper than any event or policy; bounds recursion, also for a value that contains itself. */
const DEPTH_MAX = 64;

/** Characters that JSON escapes, and surrogates, which must be paired. */
// deno-lint-ignore no-control-regex
const UNUSUAL = /["\\\u0000-\u001f\ud800-\udfff]/;

/**
 * The canonical JSON of a value by RFC 8785 (JCS): one value has one text, so hashes and signatures of it agree
 * everywhere. Undefined members are left out.
 * @throws {TypeError} for undefined, NaN, infinities, unpaired surrogates, and anything but plain objects,
 * arrays, strings, numbers, booleans and null
 * @throws {RangeError} for a value nested more than 64 levels deep
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === "string") return writeString(value);
  return isInOrder(value, 0) ? JSON.stringify(value) : write(value, 0);
}

/** True if `JSON.stringify` gives canonical JSON: sorted keys and only JSON values. */
function isInOrder(value: unknown, depth: number): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) {
    return typeof value === "boolean" || value === null;
  }
  if (depth === DEPTH_MAX) return false;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) if (!isInOrder(value[at], depth + 1)) return false;
    return true;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype || "toJSON" in value) return false;
  let last = "";
  for (const key in value) {
    const member = (value as Readonly<Record<string, unknown>>)[key];
    if (key < last || !key.isWellFormed()) return false;
    if (member !== undefined && !isInOrder(member, depth + 1)) return false;
    last = key;
  }
  return true;
}

function write(value: unknown, depth: number): string {
  switch (typeof value) {
    case "string":
      return writeString(value);
    case "number":
      return writeNumber(value);
    case "boolean":
      return value ? "true" : "false";
    case "object":
      if (value === null) return "null";
      if (depth === DEPTH_MAX) throw new RangeError(`JSON is nested more than ${DEPTH_MAX} deep`);
      return Array.isArray(value) ? writeArray(value, depth + 1) : writeObject(value, depth + 1);
    default:
      throw new TypeError(`JSON cannot hold a value of type ${typeof value}`);
  }
}

function writeString(text: string): string {
  if (!UNUSUAL.test(text)) return `"${text}"`;
  if (!text.isWellFormed()) throw new TypeError("JSON text holds a lone surrogate");
  return JSON.stringify(text);
}

function writeNumber(value: number): string {
  if (!Number.isFinite(value)) throw new TypeError(`JSON cannot hold the number ${value}`);
  return String(value);
}

function writeArray(items: readonly unknown[], depth: number): string {
  let text = "[";
  for (let at = 0; at < items.length; at++) {
    if (at > 0) text += ",";
    text += write(items[at], depth);
  }
  return text + "]";
}

function writeObject(value: object, depth: number): string {
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new TypeError(`JSON cannot hold a ${value.constructor.name}: convert it first`);
  }
  const members = value as Readonly<Record<string, unknown>>;
  let text = "";
  for (const key of sortedKeys(members)) {
    const member = members[key];
    if (member === undefined) continue;
    text += `${text === "" ? "" : ","}${writeString(key)}:${write(member, depth)}`;
  }
  return `{${text}}`;
}

/** Keys in the order of the RFC, which is that of string comparison: by UTF-16 code units. */
function sortedKeys(members: object): string[] {
  const keys = Object.keys(members);
  let last = "";
  for (const key of keys) {
    if (key < last) return keys.sort();
    last = key;
  }
  return keys;
}
