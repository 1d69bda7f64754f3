import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { Ending } from "./export_formats.ts";
import type { Line } from "./findings.ts";
import { HASH_BYTES } from "../../protocol/protocol.ts";

const ROW =
  /^\{"seq":(\d{1,15}),"leaf_hash":"([A-Za-z0-9+/]{43}=)",(?:"before":\{"after":(0|[1-9]\d{0,14}),"hashes":\[("[^\]]*")\]\},)?(?:"tile_hash":"([A-Za-z0-9+/]{43}=)",)?/;
const BRACE = 0x7b;

/** True for the start of the line that contains the proof. */
export const isEnding = (start: string, json: boolean): boolean =>
  start.startsWith(json ? '],"proof":' : '{"proof":');

/** The first line of a JSON export. */
export const JSON_START = '{"events":[';
/** How the lines of exports begin. A JSON export's first line has nothing more, other than the answer of a query. */
const STARTS = [/^\{"seq":/, /^\{"proof":/, /^\{"events":\[$/];
const CUT_OFF = ['{"seq":', '{"proof":', JSON_START];
/** Members that only exports have. */
const MEMBERS = /"leaf_hash":|"checkpoint":/;

/** True for a line that begins like one of an export, whole or cut off, or has a member of one. */
export function isOfExport(bytes: Buffer): boolean {
  const line = bytes.toString("latin1");
  return STARTS.some((start) => start.test(line)) || MEMBERS.test(line) ||
    line !== "" && CUT_OFF.some((start) => start.startsWith(line));
}

/** A hash in its only valid spelling, or null: a second spelling would allow undetected changes. */
export function readHash(text: string): Buffer | null {
  const bytes = Buffer.from(text, "base64");
  return bytes.length === HASH_BYTES && bytes.toString("base64") === text ? bytes : null;
}

/** Reads a row's line. It overwrites the bytes before the row's own members with the leaf prefix. */
export function readLine(bytes: Buffer, at: number): Line {
  const found = ROW.exec(bytes.toString("latin1"));
  if (found === null) {
    return { at, seq: null, claimed: "", content: null, before: null, tile: null };
  }
  const [front, seq, claimed = "", after, hashes, tile = null] = found;
  const leaf = bytes.subarray(front.length - 2);
  leaf[0] = 0;
  leaf[1] = BRACE;
  const content = createHash("sha256").update(leaf).digest("base64");
  const before = after === undefined
    ? null
    : { after: Number(after), hashes: hashes!.slice(1, -1).split('","') };
  // A leading zero is an alteration.
  const number = String(Number(seq)) === seq ? Number(seq) : null;
  return { at, seq: number, claimed, content, before, tile };
}

const areTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((text) => typeof text === "string");

/** The proof on the last line; null unless it is spelled exactly as exports write it. */
export function readEnding(line: string): Ending | null {
  const json = line.startsWith("]") ? `{${line.slice(2)}` : line;
  try {
    const { proof } = JSON.parse(json) as { proof: Ending };
    const { checkpoint, public_key, after, hashes, handovers } = proof;
    const written = JSON.stringify({ proof: { checkpoint, public_key, after, hashes, handovers } });
    const typed = typeof checkpoint === "string" && typeof public_key === "string" &&
      Number.isSafeInteger(after) && areTexts(hashes) &&
      (handovers === undefined || handovers.length > 0 && areTexts(handovers));
    return typed && written === json ? proof : null;
  } catch {
    return null;
  }
}
