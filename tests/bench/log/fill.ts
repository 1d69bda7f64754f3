import { Buffer } from "node:buffer";
import { AUDIT_FOLLOWER } from "../../../core/events/trail/sequencer.ts";
import { LOG_VALUE_BYTES_MAX } from "../../../kv/engine/engine_limits.ts";
import { setPending } from "../../../kv/log/pending.ts";
import { lastNumber, setSegment } from "../../../kv/log/segments.ts";
import type { Mutation } from "../../../kv/store/change.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import type { Store } from "../../../kv/store/store.ts";

/** A row of the log: its type and its canonical JSON. */
export interface FilledRow {
  readonly type: string;
  readonly json: string;
}

/** Segments of one commit, which stays below the engine's 800 KiB. */
const SEGMENTS_A_COMMIT = 12;

/**
 * Appends full segments to a tenant's log as sequencing does, without requests and without the outbox. The rows become
 * leaves of the tree at the next `reach`. No process may have written to this log, because it would remember its end.
 */
export async function fillLog(
  store: Store,
  tenant: Tenant,
  rows: number,
  rowOf: (n: number) => FilledRow,
): Promise<void> {
  let first = await lastNumber(store.kv, tenant) + 1;
  let lines: string[] = [], bytes = 0, segments: Mutation[] = [];
  const endSegment = () => {
    segments.push(setSegment(tenant, first, lines.join("\n")));
    first += lines.length;
    [lines, bytes] = [[], 0];
  };
  const commit = async () => {
    await store.transact((tx) => tx.stage(...segments, setPending(AUDIT_FOLLOWER, tenant)));
    segments = [];
  };
  for (let n = 0; n < rows; n++) {
    const { type, json } = rowOf(n);
    const line = `${type}\t${json}`;
    const more = Buffer.byteLength(line) + 1;
    if (bytes + more > LOG_VALUE_BYTES_MAX) endSegment();
    lines.push(line);
    bytes += more;
    if (segments.length === SEGMENTS_A_COMMIT) await commit();
  }
  endSegment();
  await commit();
}
