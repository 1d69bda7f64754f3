import type { Operations } from "../../../core/client/client.ts";
import { canonicalJson } from "./hashes.ts";
import { proveNote } from "./head.ts";
import { readCheckpoint } from "./notes.ts";
import { type LogHead, skipped, type Sources, type Step, step } from "./steps.ts";
import { leafOf, rootOf } from "./tree.ts";

export type RowProof = Operations["audit.proof"]["answer"];

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
