import type { Tenant } from "../../../kv/store/collection.ts";
import { checkpoints, placeId } from "../../../kv/records/audit.ts";
import type { App } from "../../work/work.ts";
import { Fault } from "../../fault/fault.ts";
import { iso } from "../../codec/instant.ts";
import { findEvent } from "./ids.ts";
import { auditKeyOf, originOf, signerOf } from "./keys.ts";
import { consistencyPath, inclusionPath } from "../../protocol/checkpoints/merkle.ts";
import {
  keyText,
  readStatement,
  signNote,
  statementText,
} from "../../protocol/checkpoints/note.ts";
import { nodesOf, rootOf } from "./tiles.ts";

/** A signed statement of how a log stood. */
export interface Checkpoint {
  readonly size: number;
  readonly root: Uint8Array;
  readonly note: string;
  /** ISO 8601. */
  readonly time: string;
}

/** A checkpoint of everything that was committed before the call; it is kept. */
export async function makeCheckpoint(app: App, tenant: Tenant): Promise<Checkpoint> {
  const { size, expired } = await app.audit.reach(tenant);
  const id = placeId(size);
  const kept = await app.store.get(checkpoints, tenant, id);
  if (kept !== null) return readKept(kept.note);
  const nowMs = app.ports.clock.now();
  const statement = {
    origin: originOf(tenant),
    size,
    root: await rootOf(app.store, tenant, size),
    time: iso(nowMs),
    expired,
    selection: null,
  };
  const key = await auditKeyOf(app, tenant);
  const note = signNote(statementText(statement), key, key.privateKey);
  return await app.store.transact(async (tx) => {
    const other = await tx.get(checkpoints, tenant, id);
    if (other !== null) return readKept(other.note);
    tx.put(checkpoints, tenant, { id, note, created_at_ms: nowMs });
    return { ...statement, note };
  });
}

/** The newest checkpoint that is kept, or null. */
export async function newestCheckpoint({ store }: App, tenant: Tenant): Promise<Checkpoint | null> {
  const { items: [newest] } = await store.list(checkpoints, tenant, { limit: 1, reverse: true });
  return newest === undefined ? null : readKept(newest.note);
}

function readKept(note: string): Checkpoint {
  const statement = readStatement(note);
  if (statement === null) throw new Error("a kept checkpoint cannot be read");
  return { ...statement, note };
}

/** A checkpoint as answers show it. */
function showCheckpoint({ size, root, time, note }: Checkpoint) {
  return { tree_size: size, root_hash: root.toBase64(), timestamp: time, note };
}

/** The newest state of the log, signed, the key that verifies it, and how those before handed over to it. */
export async function readCheckpoint(app: App, tenant: Tenant) {
  const checkpoint = await makeCheckpoint(app, tenant);
  const key = signerOf(await auditKeyOf(app, tenant), checkpoint.note);
  return {
    ...showCheckpoint(checkpoint),
    origin: key.name,
    public_key: keyText(key),
    handovers: [...key.handovers],
  };
}

/**
 * Proves that an event is in the log.
 * @throws {Fault} NOT_FOUND
 */
export async function proveEvent(app: App, tenant: Tenant, eventId: string) {
  // Only of the newest events must the tree be waited for.
  let [found, newest] = await Promise.all([
    findEvent(app, tenant, eventId),
    newestCheckpoint(app, tenant),
  ]);
  if (found === null) {
    await app.audit.reach(tenant);
    found = await findEvent(app, tenant, eventId);
  }
  if (found === null) {
    throw new Fault("NOT_FOUND", "There is no event with this id in the log.");
  }
  const { seq, row } = found;
  if (newest === null || newest.size < seq) newest = await makeCheckpoint(app, tenant);
  const read = nodesOf(app.store, tenant);
  const leaf = await read(0, seq - 1);
  return {
    event_id: eventId,
    seq,
    leaf_index: seq - 1,
    leaf_hash: leaf.toBase64(),
    row,
    path: (await inclusionPath(read, seq - 1, newest.size)).map((hash) => hash.toBase64()),
    checkpoint: showCheckpoint(newest),
  };
}

/**
 * Proves that the log of `to` rows begins with the log of `from` rows.
 * @throws {Fault} VALIDATION_FAILED when the log never had so many
 */
export async function proveConsistency(
  app: App,
  tenant: Tenant,
  { from, to }: { from: number; to?: number | undefined },
) {
  const { size } = await app.audit.reach(tenant);
  const end = to ?? size;
  const issues = [
    ...(end > size ? [{ path: "query.to", message: `the log has ${size} rows` }] : []),
    ...(from > end ? [{ path: "query.from", message: "is above to" }] : []),
  ];
  if (issues.length > 0) {
    throw new Fault("VALIDATION_FAILED", `Give sizes from 1 to ${size}, in order.`, { issues });
  }
  const read = nodesOf(app.store, tenant);
  return {
    from,
    to: end,
    from_root: (await rootOf(app.store, tenant, from)).toBase64(),
    to_root: (await rootOf(app.store, tenant, end)).toBase64(),
    path: (await consistencyPath(read, from, end)).map((hash) => hash.toBase64()),
  };
}
