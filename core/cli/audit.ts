import { z } from "zod";
import { parseArguments } from "./arguments.ts";
import { asksForHelp } from "./help.ts";
import {
  type Consistency,
  type Finding,
  type Verdict,
  verifyExport,
  type VerifyOptions,
} from "../events/events.ts";
import { keyText, type NoteKey, readKey } from "../protocol/protocol.ts";
import { printableLine } from "./printable_line.ts";

const ConsistencyAnswer = z.object({
  from: z.int(),
  to: z.int(),
  path: z.array(z.string()),
});

const HELP = `relay audit verify: check an export of the audit log without its server

Usage:
  relay audit verify <export> [--key <key>] [--checkpoint <file>] [--consistency <file>]

  <export>             The answer of GET /api/audit/export, as JSON or NDJSON.

Options:
  --key <key>          The log's public key, or a file with it: public_key of
                       GET /api/audit/checkpoint, or an earlier key that handed over to it.
                       Without it the export's own key is used, which does not detect an export that
                       was signed again with another key.
  --checkpoint <file>  A checkpoint that was stored elsewhere (the note, or the answer that holds it):
                       detects that the log was truncated, rolled back or forked since.
  --consistency <file> The answer of GET /api/audit/consistency?from=&to=, from the size of that
                       checkpoint to the size of the export; needed when the export leaves out the
                       rows around the checkpoint.
  --help               Show this text.

Exit codes:
  0  the export is complete and unaltered
  1  it is not; the output names the first wrong row
  2  wrong arguments, a file that cannot be read, or a checkpoint that could not be compared
`;

/** Runs `relay audit`; resolves to the exit code. */
export async function auditCommand(args: string[]): Promise<number> {
  if (asksForHelp(args)) {
    console.log(HELP);
    return 0;
  }
  try {
    const { file, ...options } = await readArguments(args);
    const { readable } = await Deno.open(file);
    const verdict = await verifyExport(readable, options);
    console.log(describeVerdict(verdict));
    if (verdict.finding !== null) return 1;
    return verdict.witness === "not comparable" ? 2 : 0;
  } catch (error) {
    console.error(
      `relay: ${printableLine(error instanceof Error ? error.message : String(error))}`,
    );
    return 2;
  }
}

interface Arguments extends VerifyOptions {
  readonly file: string;
}

/** @throws {Error} with what to write instead */
async function readArguments(args: readonly string[]): Promise<Arguments> {
  const { options, positional } = await parseArguments({
    texts: ["key", "checkpoint", "consistency"],
    positional: 2,
  }, args);
  const [command, file] = positional;
  const { key, checkpoint, consistency } = options;
  if (command !== "verify") throw new Error("say what to do: relay audit verify <export>");
  if (file === undefined) throw new Error("name the file that holds the export");
  if (consistency !== undefined && checkpoint === undefined) {
    throw new Error("--consistency needs --checkpoint, at whose size it starts");
  }
  return {
    file,
    key: key === undefined ? undefined : await keyOf(key),
    checkpoint: checkpoint === undefined ? undefined : await noteOf(checkpoint),
    consistency: consistency === undefined ? undefined : await proofOf(consistency),
  };
}

async function keyOf(text: string): Promise<NoteKey> {
  const key = readKey(text) ??
    readKey((await Deno.readTextFile(text).catch(() => "")).trim());
  if (key !== null) return key;
  throw new Error(`${JSON.stringify(text)} is neither a key (name+id+base64) nor a file with one`);
}

async function noteOf(path: string): Promise<string> {
  const text = await Deno.readTextFile(path);
  if (!text.startsWith("{")) return text;
  const { note } = JSON.parse(text) as { note?: unknown };
  if (typeof note !== "string") throw new Error(`${path} holds no checkpoint`);
  return note;
}

async function proofOf(path: string): Promise<Consistency> {
  const proof = ConsistencyAnswer.safeParse(JSON.parse(await Deno.readTextFile(path)));
  if (!proof.success) throw new Error(`${path} holds no consistency proof`);
  return proof.data;
}

/** The result of a check, for people. */
export function describeVerdict(
  { finding, rows, statement, witness, keyFromFile, handovers }: Verdict,
): string {
  if (finding !== null) return `INVALID: ${describeFinding(finding)}`;
  const { size, expired, origin, time, selection } = statement!;
  const lines = [`valid: ${rows} rows of ${origin}, which had ${size} at ${time}`];
  if (selection !== null && selection.filter !== "{}") {
    lines.push(`selected by ${selection.filter}`);
  }
  if (expired > 0) lines.push(`rows 1 to ${expired} are no longer kept; their hashes are correct`);
  for (const { from, to, rows } of handovers) {
    lines.push(
      `rows up to ${rows} were signed by ${keyText(from)}, which handed over to ${keyText(to)}`,
    );
  }
  if (witness === "consistent") lines.push("it is consistent with the given checkpoint");
  if (witness === "not comparable") {
    lines.push(
      "NOT COMPARED: the rows around the given checkpoint are omitted. " +
        "Give --consistency with a proof to this export's size.",
    );
  }
  if (keyFromFile) {
    lines.push("checked with the file's own key: give --key to verify who signed it");
  }
  return lines.map(printableLine).join("\n");
}

/** One finding as a sentence. */
export function describeFinding({ kind, first, last, line, why }: Finding): string {
  const rows = last === null || last === first ? `row ${first}` : `rows ${first} to ${last}`;
  const at = ` (line ${line})`;
  switch (kind) {
    case "altered":
      return last === first ? `${rows} was altered${at}` : `one of ${rows} was altered${at}`;
    case "missing":
      return `missing: ${rows}${at}`;
    case "added":
      return `added: a row that claims to be ${first}${at}`;
    case "swapped":
      return `rows ${first} and ${last} changed places${at}`;
    case "truncated":
      return `cut off: row ${first} and the following rows, or the proof at the end, are missing`;
    case "rolled_back":
      return `rolled back: ${rows} were witnessed and are not in this export`;
    case "rewritten":
      return `rewritten: ${rows} differ from those that were witnessed`;
    case "forked":
      return `forked: ${rows} differ from the given checkpoint, and one key signed both`;
    case "proof":
      return `the proof at the end is invalid: ${why}`;
  }
}
