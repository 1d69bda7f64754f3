import { hash } from "node:crypto";
import { z } from "zod";
import { canonicalJson } from "../../../codec/codec.ts";
import {
  isSignedOnce,
  keyText,
  type NoteKey,
  readKey,
  readStatement,
  signedTextOf,
  verifiesNote,
} from "../../../protocol/protocol.ts";
import { printableLine } from "../../printable_line.ts";
import type { Run } from "../command.ts";
import { checking, INVALID, keyOf } from "./verify.ts";

/** The answer of the API about a finished report. What is not checked is left out. */
const SignedReport = z.looseObject({
  id: z.string(),
  type: z.string(),
  report: z.looseObject({
    format: z.string(),
    id: z.string(),
    type: z.string(),
    title: z.string(),
    period: z.looseObject({ from: z.string(), to: z.string() }),
    generated_at: z.string(),
    statement: z.string(),
    log: z.looseObject({
      checkpoint: z.string(),
      public_key: z.string().optional(),
      size: z.int(),
      rows: z.int(),
    }),
  }),
  note: z.string(),
  public_key: z.string(),
});
type SignedReport = z.infer<typeof SignedReport>;

/** `relay report verify` */
export const verifyReport: Run = checking(async (call) => {
  const { args: [file = ""], text, has, host, out } = call;
  const signed = readReport(await Deno.readTextFile(file), file);
  const given = text("key");
  const key = given === undefined ? readKey(signed.public_key) : await keyOf(given);
  const problem = key === null ? "its public key cannot be read" : problemOf(signed, key);
  const { title, period, statement, log, id } = signed.report;
  if (out.format === "table" && !has("quiet")) {
    const lines = problem !== null ? [`INVALID: ${problem}`] : [
      `valid: ${title}, ${period.from} to ${period.to}, report ${id}`,
      `${statement} The log had ${log.size}.`,
      ...given === undefined
        ? ["checked with the report's own key: give --key to verify who signed it"]
        : [],
    ];
    await host.write(`${lines.map(printableLine).join("\n")}\n`);
  } else {
    const answer = { valid: problem === null, problem, report: id, given_key: given !== undefined };
    await out.item(answer, problem === null ? "valid" : "invalid", []);
  }
  return problem === null ? 0 : INVALID;
});

/** @throws {Error} for a file that is no finished report */
function readReport(text: string, file: string): SignedReport {
  let value: unknown = null;
  try {
    value = JSON.parse(text);
  } catch {
    // A page is no report either; the message says what is.
  }
  const read = SignedReport.safeParse(value);
  if (read.success) return read.data;
  throw new Error(
    `${file} is no finished compliance report: take the JSON of GET /api/v1/compliance/report`,
  );
}

/** What differs from what was signed; null for nothing. */
function problemOf({ id, type, report, note }: SignedReport, key: NoteKey): string | null {
  if (id !== report.id || type !== report.type) return "the record is of another report";
  if (!verifiesNote(note, key) || !isSignedOnce(note)) {
    return `its signature is not by ${keyText(key)}`;
  }
  const state = readStatement(report.log.checkpoint);
  const logged = state !== null && state.origin === key.name && state.size === report.log.size &&
    verifiesNote(report.log.checkpoint, logKeyOf(report, key));
  if (!logged) return "the checkpoint of the log is not by the key of this log";
  const signed = [
    report.format,
    key.name,
    `report ${report.id} ${report.type}`,
    `period ${report.period.from} ${report.period.to}`,
    `generated ${report.generated_at}`,
    `checkpoint ${state.size} ${state.root.toBase64()}`,
    `sha256 ${hash("sha256", canonicalJson(report))}`,
    "",
  ].join("\n");
  return signedTextOf(note) === signed ? null : "its content is not what was signed";
}

/**
 * The key of the log's checkpoint: the one that the report names, because the log's key may be replaced before the
 * report is signed. What is signed covers it. Only a key of the same log counts.
 */
function logKeyOf({ log }: SignedReport["report"], key: NoteKey): NoteKey {
  const named = log.public_key === undefined ? null : readKey(log.public_key);
  return named?.name === key.name ? named : key;
}
