import type { Operations } from "../../core/client/client.ts";
import {
  canonicalJson,
  canVerify,
  type Checkpoint,
  continues,
  digestOf,
  type Handover,
  isSignedBy,
  leafOf,
  type LogKey,
  readChain,
  readCheckpoint,
  readKey,
  rootOf,
} from "./proof.ts";

/** One thing that was checked, for people. `skipped`: there was nothing to check, or the browser cannot. */
export interface Step {
  readonly title: string;
  readonly state: "passed" | "failed" | "skipped";
  readonly detail: string;
}

export type RowProof = Operations["audit.proof"]["answer"];
export type LogHead = Operations["audit.checkpoint"]["answer"];

/** What a browser keeps of a log between visits. It is no secret. */
export interface Kept {
  readonly note: string;
  readonly public_key: string;
}

/** How the steps learn what the relay says. */
export interface Sources {
  /** Which log it has to be: `relay/<organization>/<space>`. */
  readonly origin: string;
  readonly kept: Kept | null;
  /** The path from a log of `from` rows to one of `to`. */
  readonly consistency: (from: number, to: number) => Promise<readonly string[]>;
}

const step = (title: string, passed: boolean, good: string, bad: string): Step => ({
  title,
  state: passed ? "passed" : "failed",
  detail: passed ? good : bad,
});
const skipped = (title: string, detail: string): Step => ({ title, state: "skipped", detail });

const NO_ED25519 = "This browser cannot verify Ed25519. Use a newer one, or `relay audit verify`.";

/** Proves a row: its bytes, its place in the tree, the signature of the tree, and what was kept of earlier visits. */
export async function* proveRow(
  eventId: string,
  proof: RowProof,
  head: LogHead,
  sources: Sources,
): AsyncGenerator<Step, void> {
  const { seq, row, leaf_hash, leaf_index, path, checkpoint: { note } } = proof;
  yield row === null
    ? skipped("The proof is of this row", "The row is no longer kept; its hash is.")
    : step(
      "The proof is of this row",
      isRowOf(row, eventId) && leaf_index === seq - 1,
      `Row ${seq}: ${row.length} characters of canonical JSON, shown below.`,
      "The proven text is not the canonical JSON of this row.",
    );
  const leaf = row === null ? leaf_hash : await leafOf(row);
  yield step(
    "Its hash is right",
    leaf === leaf_hash,
    `SHA-256 of the row's bytes: ${leaf}`,
    `The bytes have the hash ${leaf}, and the relay says ${leaf_hash}.`,
  );
  const checkpoint = readCheckpoint(note);
  const root = checkpoint && await rootOf(leaf, seq - 1, checkpoint.size, path);
  yield step(
    "The row is in the tree",
    root !== null && root === checkpoint!.root,
    `${path.length} hashes lead from row ${seq} to the root of ${checkpoint?.size} rows: ${root}`,
    "The path does not lead to the root of the checkpoint.",
  );
  yield* proveNote(note, head, sources);
}

function isRowOf(row: string, eventId: string): boolean {
  try {
    const event = JSON.parse(row);
    return event.event_id === eventId && canonicalJson(event) === row;
  } catch {
    return false;
  }
}

/** Proves a log's present checkpoint. */
export const proveHead = (head: LogHead, sources: Sources): AsyncGenerator<Step, void> =>
  proveNote(head.note, head, sources);

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

/** The key of a log and the handovers to it; null when they are malformed or wrongly signed. */
async function trustOf(
  head: LogHead,
): Promise<{ readonly key: LogKey; readonly chain: readonly Handover[] } | null> {
  const key = await readKey(head.public_key);
  const chain = key && (await canVerify() ? await readChain(head.handovers, key) : []);
  return key === null || chain === null ? null : { key, chain };
}

/** Proves a checkpoint: whose log it is, who signed it, and that the log grew since the kept checkpoint. */
async function* proveNote(
  note: string,
  head: LogHead,
  sources: Sources,
): AsyncGenerator<Step, void> {
  const checkpoint = readCheckpoint(note);
  yield step(
    "The checkpoint is of your log",
    checkpoint?.origin === sources.origin,
    `${sources.origin}, ${checkpoint?.size} rows at ${checkpoint?.time}`,
    checkpoint === null ? "It cannot be read." : `It is of ${checkpoint.origin}.`,
  );
  if (checkpoint === null) return;
  if (!await canVerify()) {
    yield skipped("The log's key signed the checkpoint", NO_ED25519);
    yield skipped(GREW, "Only a signed checkpoint is compared.");
    return;
  }
  const trusted = await trustOf(head);
  // A former key signs for no more rows than it had when it handed over.
  const signers = trusted === null ? [] : [
    trusted.key,
    ...trusted.chain.filter(({ rows }) => checkpoint.size <= rows).map(({ from }) => from),
  ];
  let signer: LogKey | null = null;
  for (const key of signers) if (signer === null && await isSignedBy(note, key)) signer = key;
  yield step(
    "The log's key signed the checkpoint",
    signer !== null,
    `Ed25519 by the key ${signer?.id}`,
    "The signature is not by the key of this log.",
  );
  yield* proveGrowth(checkpoint, head.tree_size, trusted, sources);
}

const GREW = "The log only grew since this browser saw it last";
const KEY_KEPT = "The key is the one this browser knows";

async function* proveGrowth(
  present: Checkpoint,
  rows: number,
  trusted: { readonly key: LogKey; readonly chain: readonly Handover[] } | null,
  { kept, origin, consistency }: Sources,
): AsyncGenerator<Step, void> {
  const earlier = kept && readCheckpoint(kept.note);
  if (kept === null || earlier === null || earlier.origin !== origin) {
    yield skipped(GREW, "This browser has no checkpoint of an earlier visit.");
    return;
  }
  const known = trusted !== null &&
    [trusted.key, ...trusted.chain.map(({ from }) => from)].some(({ text }) =>
      text === kept.public_key
    );
  yield step(
    KEY_KEPT,
    known,
    kept.public_key === trusted?.key.text ? trusted.key.text : "It handed over to the present key.",
    "Another key signs now, and the key that this browser knows did not hand over to it.",
  );
  if (earlier.size > Math.max(present.size, rows)) {
    yield step(
      GREW,
      false,
      "",
      `This browser saw ${earlier.size} rows, and the relay says that there are ${rows}.`,
    );
    return;
  }
  const [first, last] = earlier.size <= present.size ? [earlier, present] : [present, earlier];
  const path = first.size === last.size ? [] : await consistency(first.size, last.size);
  yield step(
    GREW,
    await continues(first, last, path),
    `The log of ${last.size} rows begins with the log of ${first.size} rows, seen ${first.time}.`,
    `The log of ${last.size} rows does not begin with the log of ${first.size} rows: rows that ` +
      "were seen have been changed or removed.",
  );
}
