import { canonicalJson, digestOf } from "./hashes.ts";
import { proveNote, trustOf } from "./head.ts";
import { canVerify, isSignedBy } from "./notes.ts";
import { type LogHead, NO_ED25519, skipped, type Sources, type Step, step } from "./steps.ts";

/** A report, as the API answers it. */
export interface SignedReport {
  readonly id: string;
  readonly type: string;
  readonly report: {
    readonly log: { readonly checkpoint: string };
    readonly [member: string]: unknown;
  };
  readonly note: string;
  readonly public_key: string;
}

/** Proves a compliance report: its text, its signature, and that the log it counted is the beginning of today's. */
export async function* proveReport(
  { id, type, report, note, public_key }: SignedReport,
  head: LogHead,
  sources: Sources,
): AsyncGenerator<Step, void> {
  const digest = await digestOf(canonicalJson(report));
  const [format, origin, subject] = note.split("\n");
  yield step(
    "The note is of this report",
    format === report.format && origin === sources.origin && subject === `report ${id} ${type}`,
    `${subject} of ${origin}`,
    "The signed note is about another report or another organization.",
  );
  yield step(
    "The report's text is what was signed",
    note.includes(`\nsha256 ${digest}\n\n`),
    `SHA-256 of its canonical JSON: ${digest}`,
    `The text has the SHA-256 ${digest}; the note states another.`,
  );
  const trusted = await trustOf(head);
  const signer = trusted &&
    [trusted.key, ...trusted.chain.map(({ from }) => from)].find((key) => key.text === public_key);
  yield !await canVerify() ? skipped("The log's key signed it", NO_ED25519) : step(
    "The log's key signed it",
    signer !== null && signer !== undefined && await isSignedBy(note, signer),
    `Ed25519 by the key ${signer?.id}`,
    "The signature is not by the key of this log.",
  );
  yield* proveNote(report.log.checkpoint, head, sources);
}
