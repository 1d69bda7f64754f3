import { Buffer } from "node:buffer";
import { GitFailure, RepositoryTooLarge } from "./git_failure.ts";

/**
 * Packets of one answer; the Git library takes some microseconds for each. Branches and tags come one by
 * one, 80,000 in what is read of them; hosts cut packfiles into pieces of kilobytes.
 */
const PACKETS_MAX = 200_000;
const LENGTH_DIGITS = 4;
const PACKFILE = 1;
const FAILURE = 3;
/** The longest packet is 65,520 bytes, with its length and the number of its band. */
const PIECE_BYTES_MAX = 65_515;

/**
 * What is in the packets of an answer, up to what is no packet; a packet begins with its own length.
 * @throws {RepositoryTooLarge}
 */
function* packets(answer: Uint8Array): Generator<Uint8Array> {
  const bytes = Buffer.from(answer.buffer, answer.byteOffset, answer.length);
  let at = 0;
  for (let count = 0; at + LENGTH_DIGITS <= bytes.length; count++) {
    if (count === PACKETS_MAX) {
      throw new RepositoryTooLarge(`the host answers with more than ${PACKETS_MAX} packets`);
    }
    const digits = bytes.toString("latin1", at, at + LENGTH_DIGITS);
    if (!/^[0-9a-f]{4}$/i.test(digits)) return;
    // Those of less than four bytes are marks, and hold nothing.
    const end = at + Math.max(LENGTH_DIGITS, parseInt(digits, 16));
    yield bytes.subarray(at + LENGTH_DIGITS, end);
    at = end;
  }
}

/** @throws {RepositoryTooLarge} for an answer of more packets than any repository needs */
export function checkPackets(answer: Uint8Array): void {
  for (const _ of packets(answer));
}

/** Of a branch or tag; behind the first one stands what the host can do. */
const REF = /^([0-9a-f]{40}) ([^\s\0]+)/;

/**
 * A list of branches and tags that has a HEAD. A host tells of none where the branch that it calls the default
 * is not there, and then the Git library fetches no other one either.
 * @throws {GitFailure} for a repository whose objects the library cannot read
 */
export function withHead(list: Uint8Array): Uint8Array {
  let branch: string | undefined;
  for (const packet of packets(list)) {
    const line = Buffer.from(packet).toString("latin1");
    if (/(^|[ \0])object-format=sha256/.test(line)) {
      const message =
        "The repository names its objects by SHA-256. Only SHA-1 is read: convert it.";
      throw new GitFailure("unsupported", message);
    }
    const [, oid, name = ""] = REF.exec(line) ?? [];
    if (name === "HEAD") return list;
    if (name.startsWith("refs/heads/")) branch ??= oid;
  }
  return branch === undefined ? list : Buffer.concat([list, Buffer.from(`0032${branch} HEAD\n`)]);
}

/** The packfile in an answer, without what the host tells of its work. */
export function packfileOf(answer: Uint8Array): Uint8Array {
  const pieces = [];
  for (const packet of packets(answer)) {
    if (packet[0] === FAILURE) throw new Error("the host gives up");
    if (packet[0] === PACKFILE) pieces.push(packet.subarray(1));
  }
  return Buffer.concat(pieces);
}

/** An answer of a packfile and nothing else. */
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
