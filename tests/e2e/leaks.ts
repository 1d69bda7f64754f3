import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";

/** Something that may hold a secret: its name, and its bytes. */
export type Haystack = readonly [where: string, bytes: Uint8Array];

/** How a text would look if somebody had stored it: as it is, or in a form that gives it away. */
export function formsOf(secret: string): ReadonlyMap<string, Buffer> {
  const bytes = Buffer.from(secret);
  const forms = new Map<string, Buffer>([
    ["plain", bytes],
    ["utf-16", Buffer.from(secret, "utf16le")],
    ["hex", Buffer.from(bytes.toString("hex"))],
    ["upper-case hex", Buffer.from(bytes.toString("hex").toUpperCase())],
    ["URL-encoded", Buffer.from(encodeURIComponent(secret))],
    ["form-encoded", Buffer.from(new URLSearchParams([["", secret]]).toString().slice(1))],
    ["JSON", Buffer.from(JSON.stringify(secret).slice(1, -1))],
  ]);
  for (const encoding of ["base64", "base64url"] as const) {
    // What stands before the secret moves its bits, and what stands behind shares its last character.
    for (const [before, skipped] of [[0, 0], [1, 2], [2, 3]] as const) {
      const moved = Buffer.concat([Buffer.alloc(before), bytes]);
      const whole = moved.subarray(0, moved.length - moved.length % 3).toString(encoding);
      forms.set(`${encoding} after ${before}`, Buffer.from(whole.slice(skipped)));
    }
  }
  return forms;
}

/** A digest without salt gives away what people choose, though not what was drawn at random. */
export function digestsOf(secret: string): ReadonlyMap<string, Buffer> {
  const digests = new Map<string, Buffer>();
  for (const name of ["md5", "sha1", "sha256", "sha512"]) {
    const digest = createHash(name).update(secret).digest();
    digests.set(name, digest);
    for (const encoding of ["hex", "base64", "base64url"] as const) {
      digests.set(`${name} ${encoding}`, Buffer.from(digest.toString(encoding).replace(/=+$/, "")));
    }
  }
  return digests;
}

/** Which of the named secrets are where, and in what form; none is printed. */
export function findLeaks(
  secrets: ReadonlyMap<string, ReadonlyMap<string, Buffer>>,
  haystacks: Iterable<Haystack>,
): string[] {
  const found = new Set<string>();
  for (const [where, bytes] of haystacks) {
    const haystack = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (const [name, forms] of secrets) {
      for (const [form, needle] of forms) {
        if (haystack.includes(needle)) found.add(`${name} as ${form} in ${where}`);
      }
    }
  }
  return [...found];
}

/** Every text and byte of every key and value of a store. */
export async function storeHaystacks(kv: Deno.Kv): Promise<Haystack[]> {
  const haystacks: Haystack[] = [];
  for await (const { key, value } of kv.list({ prefix: [] })) {
    const where = key.slice(0, 3).join("/");
    for (const part of key) haystacks.push(...bytesOf(`a key of ${where}`, part));
    haystacks.push(...bytesOf(`a value of ${where}`, value));
  }
  return haystacks;
}

function* bytesOf(where: string, value: unknown): Generator<Haystack> {
  if (typeof value === "string") yield [where, Buffer.from(value)];
  else if (ArrayBuffer.isView(value)) {
    yield [where, new Uint8Array(value.buffer, value.byteOffset, value.byteLength)];
  } else if (value instanceof Map) yield* bytesOf(where, [...value]);
  else if (typeof value === "object" && value !== null) {
    for (const [name, inner] of Object.entries(value)) {
      yield [where, Buffer.from(name)];
      yield* bytesOf(where, inner);
    }
  }
}
