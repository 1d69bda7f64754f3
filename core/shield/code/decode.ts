/** Decodes base64 or base64url leniently, as `base64 -di` does: other characters are skipped. */
export function decodeBase64(text: string): string {
  let bits = 0;
  let held = 0;
  const bytes: number[] = [];
  for (let i = 0; i < text.length; i++) {
    const value = VALUES[text.charCodeAt(i)] ?? -1;
    if (value < 0) continue;
    bits = ((bits << 6) | value) & 0xffffff;
    held += 6;
    if (held >= 8) {
      held -= 8;
      bytes.push((bits >> held) & 0xff);
    }
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/** The value of each character, by its code; both alphabets at once. */
const VALUES = new Int8Array(128).fill(-1);
for (const [value, c] of [...ALPHABET].entries()) VALUES[c.charCodeAt(0)] = value;
VALUES["-".charCodeAt(0)] = 62;
VALUES["_".charCodeAt(0)] = 63;

/** Decodes base32 leniently. */
export function decodeBase32(text: string): string {
  let bits = 0;
  let held = 0;
  const bytes: number[] = [];
  for (const c of text.toUpperCase()) {
    const value = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(c);
    if (value < 0) continue;
    bits = ((bits << 5) | value) & 0xffffff;
    held += 5;
    if (held >= 8) {
      held -= 8;
      bytes.push((bits >> held) & 0xff);
    }
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

/** Decodes pairs of hex digits, skipping everything else, as `xxd -r -p` does. */
export function decodeHex(text: string): string {
  const bytes: number[] = [];
  let high = -1;
  for (const c of text) {
    const value = "0123456789abcdef".indexOf(c.toLowerCase());
    if (value < 0) continue;
    if (high < 0) high = value;
    else {
      bytes.push(high * 16 + value);
      high = -1;
    }
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

/** Resolves the backslash escapes of `printf` and `echo -e`. */
export function decodeEscapes(text: string): string {
  if (!text.includes("\\")) return text;
  let out = "";
  for (let i = 0; i < text.length; i++) {
    const c = text[i] ?? "";
    if (c !== "\\") {
      out += c;
      continue;
    }
    i++;
    const kind = text[i] ?? "\\";
    const simple = SIMPLE.get(kind);
    if (simple !== undefined) out += simple;
    else if (kind === "x" || kind === "u" || kind === "U") {
      const digits = takeDigits(
        text,
        i + 1,
        kind === "x" ? 2 : kind === "u" ? 4 : 8,
        "0123456789abcdefABCDEF",
      );
      const point = parseInt(digits, 16);
      out += digits === "" || point > 0x10ffff ? kind : String.fromCodePoint(point || 32);
      i += digits.length;
    } else if (kind >= "0" && kind <= "7") {
      const digits = takeDigits(text, i, kind === "0" ? 4 : 3, "01234567");
      out += String.fromCharCode(parseInt(digits, 8) & 0xff || 32);
      i += digits.length - 1;
    } else out += `\\${kind}`;
  }
  return out;
}

const SIMPLE = new Map([
  ["n", "\n"],
  ["t", "\t"],
  ["r", "\r"],
  ["\\", "\\"],
  ['"', '"'],
  ["'", "'"],
  ["e", "\x1b"],
  ["a", "\x07"],
  ["c", ""],
]);

function takeDigits(text: string, from: number, most: number, digits: string): string {
  let to = from;
  while (to < text.length && to - from < most && digits.includes(text[to] ?? " ")) to++;
  return text.slice(from, to);
}

/** `tr` with plain sets and ranges; null where the sets hold classes. */
export function translate(text: string, from: string, to: string): string | null {
  const source = expandSet(from);
  const target = expandSet(to);
  if (source === null || target === null || target.length === 0) return null;
  const map = new Map<string, string>();
  for (const [i, c] of source.entries()) map.set(c, target[Math.min(i, target.length - 1)] ?? c);
  let out = "";
  for (const c of text) out += map.get(c) ?? c;
  return out;
}

const MAX_SET = 512;

/** The characters of a set of `tr`; null where it holds classes, or more than anybody writes. */
export function expandSet(raw: string): string[] | null {
  if (raw.includes("[:")) return null;
  const set = [...decodeEscapes(raw)];
  const out: string[] = [];
  for (let i = 0; i < set.length; i++) {
    if (out.length > MAX_SET) return null;
    const first = set[i] ?? "";
    const last = set[i + 2];
    if (set[i + 1] !== "-" || last === undefined) out.push(first);
    else {
      for (let code = first.charCodeAt(0); code <= last.charCodeAt(0); code++) {
        if (out.length > MAX_SET) return null;
        out.push(String.fromCharCode(code));
      }
      i += 2;
    }
  }
  return out;
}
