import { Buffer } from "node:buffer";
import { GitFailure, RepositoryTooLarge } from "./git_failure.ts";

/**
 * Packets of one answer at most; the Git library takes some microseconds for each. The largest list of branches
 * and tags has 80,000, and hosts cut packfiles into pieces of kilobytes.
 */
const PACKETS_MAX = 200_000;
const LENGTH_DIGITS = 4;
const PACKFILE = 1;
const FAILURE = 3;
/** The longest packet is 65,520 bytes, with its length and the number of its band. */
const PIECE_BYTES_MAX = 65_515;

/**
 * The contents of the packets of an answer, up to the first invalid packet; a packet begins with its length.
 * @throws {RepositoryTooLarge}
 */
function* packets(answer: Uint8Array): Generator<Uint8Array> {
  const bytes = Buffer.from(answer.buffer, answer.byteOffset, answer.length);
  let at = 0;
  for (let count = 0; at + LENGTH_DIGITS <= bytes.length; count++) {
    if (count === PACKETS_MAX) {
      throw new RepositoryTooLarge(`the host sent more than ${PACKETS_MAX} packets`);
    }
    const digits = bytes.toString("latin1", at, at + LENGTH_DIGITS);
    if (!/^[0-9a-f]{4}$/i.test(digits)) return;
    // Lengths below four are markers without contents.
    const end = at + Math.max(LENGTH_DIGITS, parseInt(digits, 16));
    yield bytes.subarray(at + LENGTH_DIGITS, end);
    at = end;
  }
}

/** @throws {RepositoryTooLarge} for an answer of more packets than any repository needs */
export function checkPackets(answer: Uint8Array): void {
  for (const _ of packets(answer));
}

/** A line of the list of branches and tags; the first one is followed by the host's capabilities. */
const REF = /^([0-9a-f]{40}) ([^\s\0]+)/;

/**
 * The list of branches and tags, with a HEAD added if it has none. A host sends no HEAD when its default branch
 * does not exist, and without one the Git library fetches no other branch.
 * @throws {GitFailure} for a repository whose objects the library cannot read
 */
export function withHead(list: Uint8Array): Uint8Array {
  let branch: string | undefined;
  for (const packet of packets(list)) {
    const line = Buffer.from(packet).toString("latin1");
    if (/(^|[ \0])object-format=sha256/.test(line)) {
      const message =
        "The repository uses SHA-256 object names, but only SHA-1 is supported. Convert it.";
      throw new GitFailure("unsupported", message);
    }
    const [, oid, name = ""] = REF.exec(line) ?? [];
    if (name === "HEAD") return list;
    if (name.startsWith("refs/heads/")) branch ??= oid;
  }
  return branch === undefined ? list : Buffer.concat([list, Buffer.from(`0032${branch} HEAD\n`)]);
}

/** The packfile in an answer, without the host's progress messages. */
export function packfileOf(answer: Uint8Array): Uint8Array {
  const pieces = [];
  for (const packet of packets(answer)) {
    if (packet[0] === FAILURE) throw new Error("the host reported an error");
    if (packet[0] === PACKFILE) pieces.push(packet.subarray(1));
  }
  return Buffer.concat(pieces);
}

/** An answer that holds only a packfile. */
export function* answerOf(packfile: Uint8Array): Generator<Uint8Array> {
  yield Buffer.from("0008NAK\n");
  for (let at = 0; at < packfile.length; at += PIECE_BYTES_MAX) {
    const piece = packfile.subarray(at, at + PIECE_BYTES_MAX);
    const length = LENGTH_DIGITS + 1 + piece.length;
    yield Buffer.from(`${length.toString(16).padStart(LENGTH_DIGITS, "0")}\x01`);
    yield piece;
  }
  yield Buffer.from("0000");
}
