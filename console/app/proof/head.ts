import {
  canVerify,
  type Checkpoint,
  type Handover,
  isSignedBy,
  type LogKey,
  readChain,
  readCheckpoint,
  readKey,
} from "./notes.ts";
import { type LogHead, NO_ED25519, skipped, type Sources, type Step, step } from "./steps.ts";
import { continues } from "./tree.ts";

/** Proves a log's present checkpoint. */
export const proveHead = (head: LogHead, sources: Sources): AsyncGenerator<Step, void> =>
  proveNote(head.note, head, sources);

/** The key of a log, with those that handed over to it. */
export interface Trusted {
  readonly key: LogKey;
  readonly chain: readonly Handover[];
}

/** The key of a log and the handovers to it; null when they are malformed or wrongly signed. */
export async function trustOf(head: LogHead): Promise<Trusted | null> {
  const key = await readKey(head.public_key);
  const chain = key && (await canVerify() ? await readChain(head.handovers, key) : []);
  return key === null || chain === null ? null : { key, chain };
}

/** Proves a checkpoint: whose log it is, who signed it, and that the log grew since the kept checkpoint. */
export async function* proveNote(
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
  trusted: Trusted | null,
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
