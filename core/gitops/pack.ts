import { inflateSync, type ZlibOptions } from "node:zlib";
import { RepositoryTooLarge } from "./git_failure.ts";

/** Bounds of what one fetch may unfold to; a Git library would inflate whatever comes. */
export interface PackBounds {
  readonly objectsMax: number;
  /** Bytes of one object. */
  readonly objectBytesMax: number;
  /** Bytes of all objects together. */
  readonly totalBytesMax: number;
  /** How many differences may stand on each other. */
  readonly depthMax: number;
}

const HEADER_BYTES = 12;
const TRAILER_BYTES = 20;
const OFS_DELTA = 6;
const REF_DELTA = 7;
const HASH_BYTES = 20;
/** The start of a difference: the sizes of its base and of its result. */
const SIZES_BYTES_MAX = 20;

/**
 * Goes through a packfile and refuses one that would unfold beyond the bounds: a few bytes of it can
 * stand for gigabytes.
 * @throws {RepositoryTooLarge}, and {Error} for what is no packfile
 */
export function checkPack(pack: Uint8Array, bounds: PackBounds): void {
  const view = new DataView(pack.buffer, pack.byteOffset, pack.byteLength);
  if (pack.length < HEADER_BYTES + TRAILER_BYTES || view.getUint32(0) !== 0x5041434b) {
    throw new Error("the host sent no packfile");
  }
  const objects = view.getUint32(8);
  if (objects > bounds.objectsMax) {
    throw new RepositoryTooLarge(`it holds ${objects} objects; ${bounds.objectsMax} are read`);
  }
  const depths = new Map<number, number>();
  let at = HEADER_BYTES;
  let totalBytes = 0;
  for (let n = 0; n < objects; n++) {
    const one = readObject(pack, at, bounds);
    const base = one.base === null ? 0 : depths.get(one.base) ?? 0;
    const depth = one.isDelta ? base + 1 : 0;
    if (depth > bounds.depthMax) {
      throw new RepositoryTooLarge(
        `its objects build on each other more than ${bounds.depthMax}-fold`,
      );
    }
    depths.set(at, depth);
    totalBytes += one.bytes;
    if (totalBytes > bounds.totalBytesMax) {
      throw new RepositoryTooLarge(`its files have more than ${inMegabytes(bounds.totalBytesMax)}`);
    }
    at = one.end;
  }
}

interface PackedObject {
  readonly isDelta: boolean;
  /** Where the object lies that a difference stands on; null when it is named by its hash. */
  readonly base: number | null;
  /** What it unfolds to, with the difference itself. */
  readonly bytes: number;
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
  let base: number | null = null;
  if (type === OFS_DELTA) {
    byte = byteAt(pack, at++);
    let back = byte & 127;
    while (byte & 128) {
      byte = byteAt(pack, at++);
      back = (back + 1) * 128 + (byte & 127);
    }
    base = start - back;
  }
  if (type === REF_DELTA) at += HASH_BYTES;
  const { data, taken } = inflate(pack.subarray(at), size);
  const isDelta = type === OFS_DELTA || type === REF_DELTA;
  const result = isDelta ? resultSize(data) : 0;
  mustFit(result, bounds);
  return { isDelta, base, bytes: size + result, end: at + taken };
}

function mustFit(bytes: number, { objectBytesMax }: PackBounds): void {
  if (bytes <= objectBytesMax) return;
  throw new RepositoryTooLarge(`one of its files has more than ${inMegabytes(objectBytesMax)}`);
}

/** One zlib stream at the start of `bytes`, and how many bytes it takes. */
function inflate(bytes: Uint8Array, size: number): { data: Uint8Array; taken: number } {
  const options: ZlibOptions = { info: true, maxOutputLength: size + 1 };
  // With `info` the answer holds the engine too, which the types do not say.
  const { buffer, engine } = inflateSync(bytes, options) as unknown as {
    buffer: Uint8Array;
    engine: { bytesWritten: number };
  };
  if (buffer.length !== size) throw new Error("an object of the packfile has another size");
  return { data: buffer, taken: engine.bytesWritten };
}

function resultSize(delta: Uint8Array): number {
  let at = 0;
  const number = () => {
    let value = 0;
    for (let factor = 1; at < SIZES_BYTES_MAX; factor *= 128) {
      const byte = byteAt(delta, at++);
      value += (byte & 127) * factor;
      if ((byte & 128) === 0) break;
    }
    return value;
  };
  number();
  return number();
}

function byteAt(bytes: Uint8Array, at: number): number {
  const byte = bytes[at];
  if (byte === undefined) throw new Error("the packfile breaks off");
  return byte;
}

/** Bytes as people read them. */
export const inMegabytes = (bytes: number): string => `${Math.floor(bytes / (1024 * 1024))} MiB`;
