import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { constants, deflateSync, inflateSync, type ZlibOptions } from "node:zlib";
import { nextTurn } from "../../ports/ports.ts";
import { applyDelta } from "./delta.ts";
import { RepositoryTooLarge } from "./git_failure.ts";

/** Limits of what one fetch may unpack to; a Git library would inflate anything. */
export interface PackBounds {
  readonly objectsMax: number;
  /** Bytes of one object. */
  readonly objectBytesMax: number;
  /** Bytes of all objects and deltas together. */
  readonly totalBytesMax: number;
}

const HEADER_BYTES = 12;
const TRAILER_BYTES = 20;
const TYPES: Readonly<Record<number, string>> = { 1: "commit", 2: "tree", 3: "blob", 4: "tag" };
const OFS_DELTA = 6;
const REF_DELTA = 7;
const HASH_BYTES = 20;
/** Bytes unpacked before other work gets its turn; each object counts as some more bytes. */
const TURN_BYTES = 2 * 1024 * 1024;
const OBJECT_TURN_BYTES = 4 * 1024;

interface GitObject {
  readonly type: number;
  readonly data: Uint8Array;
}

/**
 * Rewrites a packfile so that every object is whole. A few bytes of a packfile can expand to gigabytes, deltas can
 * form long chains, and a Git library unpacks a base again for each delta on it. Here each object is unpacked once
 * and within the limits, so that the library has nothing left to expand.
 * @throws {RepositoryTooLarge}, and {Error} for an invalid packfile
 */
export async function unfoldPack(pack: Uint8Array, bounds: PackBounds): Promise<Uint8Array> {
  const view = new DataView(pack.buffer, pack.byteOffset, pack.byteLength);
  if (pack.length < HEADER_BYTES + TRAILER_BYTES || view.getUint32(0) !== 0x5041434b) {
    throw new Error("the response is not a packfile");
  }
  const objects = view.getUint32(8);
  if (objects > bounds.objectsMax) {
    throw new RepositoryTooLarge(
      `it holds ${objects} objects; at most ${bounds.objectsMax} are read`,
    );
  }
  // By offset and by hash: a delta names its base by either.
  const known = new Map<number | string, GitObject>();
  const whole = [pack.subarray(0, HEADER_BYTES)];
  let at = HEADER_BYTES;
  let totalBytes = 0;
  let turnBytes = 0;
  for (let n = 0; n < objects; n++) {
    const packed = readObject(pack, at, bounds);
    const object = packed.base === null
      ? packed
      : unfold(packed.data, known.get(packed.base), bounds);
    whole.push(packed.base === null ? pack.subarray(at, packed.end) : packWhole(object));
    known.set(at, object).set(hashOf(object), object);
    const bytes = packed.data.length + (packed.base === null ? 0 : object.data.length);
    totalBytes += bytes;
    if (totalBytes > bounds.totalBytesMax) {
      throw new RepositoryTooLarge(`its files hold more than ${inMegabytes(bounds.totalBytesMax)}`);
    }
    turnBytes += bytes + OBJECT_TURN_BYTES;
    if (turnBytes > TURN_BYTES) {
      turnBytes = 0;
      await nextTurn();
    }
    at = packed.end;
  }
  return Buffer.concat([...whole, sha1(whole).digest()]);
}

interface PackedObject extends GitObject {
  /** The offset or the hash of the base of a delta; null for a whole object. */
  readonly base: number | string | null;
  readonly end: number;
}

function readObject(pack: Uint8Array, start: number, bounds: PackBounds): PackedObject {
  let at = start;
  let byte = byteAt(pack, at++);
  const type = (byte >> 4) & 7;
  let size = byte & 15;
  for (let factor = 16; byte & 128; factor *= 128) {
    byte = byteAt(pack, at++);
    size += (byte & 127) * factor;
  }
  mustFit(size, bounds);
  let base: number | string | null = null;
  if (type === OFS_DELTA) {
    byte = byteAt(pack, at++);
    let back = byte & 127;
    while (byte & 128) {
      byte = byteAt(pack, at++);
      back = (back + 1) * 128 + (byte & 127);
    }
    base = start - back;
  }
  if (type === REF_DELTA) base = Buffer.from(pack.subarray(at, at += HASH_BYTES)).toString("hex");
  const { data, taken } = inflate(pack.subarray(at), size);
  return { type, data, base, end: at + taken };
}

function mustFit(bytes: number, { objectBytesMax }: PackBounds): void {
  if (bytes <= objectBytesMax) return;
  throw new RepositoryTooLarge(`one of its files holds more than ${inMegabytes(objectBytesMax)}`);
}

/** Inflates the zlib stream at the start of `bytes`; `taken` is its compressed length. */
function inflate(bytes: Uint8Array, size: number): { data: Uint8Array; taken: number } {
  const options: ZlibOptions = { info: true, maxOutputLength: size + 1 };
  // With `info` the result also holds the engine, which the type declarations omit.
  const { buffer, engine } = inflateSync(bytes, options) as unknown as {
    buffer: Uint8Array;
    engine: { bytesWritten: number };
  };
  if (buffer.length !== size) throw new Error("an object of the packfile has the wrong size");
  return { data: buffer, taken: engine.bytesWritten };
}

/** The object that a delta makes of its base, which must precede it. */
function unfold(delta: Uint8Array, base: GitObject | undefined, bounds: PackBounds): GitObject {
  if (base === undefined) throw new Error("delta base missing");
  const data = applyDelta(delta, base.data, (bytes) => mustFit(bytes, bounds));
  return { type: base.type, data };
}

/** An object in the form of a packfile, stored without compression to save time. */
function packWhole({ type, data }: GitObject): Uint8Array {
  const head = [(type << 4) | (data.length & 15)];
  for (let rest = data.length >> 4; rest > 0; rest >>= 7) {
    head[head.length - 1]! |= 128;
    head.push(rest & 127);
  }
  const options = { level: constants.Z_NO_COMPRESSION };
  return Buffer.concat([Buffer.from(head), deflateSync(data, options)]);
}

function hashOf({ type, data }: GitObject): string {
  const name = TYPES[type];
  if (name === undefined) throw new Error("the packfile holds an object of an unknown type");
  return sha1([Buffer.from(`${name} ${data.length}\0`), data]).digest("hex");
}

function sha1(pieces: readonly Uint8Array[]) {
  const hash = createHash("sha1");
  for (const piece of pieces) hash.update(piece);
  return hash;
}

function byteAt(bytes: Uint8Array, at: number): number {
  const byte = bytes[at];
  if (byte === undefined) throw new Error("the packfile is truncated");
  return byte;
}

/** Bytes in whole mebibytes, for messages. */
export const inMegabytes = (bytes: number): string => `${Math.floor(bytes / (1024 * 1024))} MiB`;
