import type { Tenant } from "../../../kv/store/collection.ts";
import { type AuditTreeRecord, checkpoints, placeId } from "../../../kv/records/audit.ts";
import type { Context } from "../../context/context.ts";
import { Fault } from "../../fault/fault.ts";
import { iso } from "../../codec/codec.ts";
import { findEvent } from "./event_id_index.ts";
import { auditKeyOf, originOf, signerOf } from "./audit_keys.ts";
import {
  consistencyPath,
  inclusionPath,
  keyText,
  readStatement,
  signNote,
  statementText,
} from "../../protocol/protocol.ts";
import { nodesOf, rootOf } from "./tiles.ts";

/** The Merkle trees over all logs. */
export interface AuditTree {
  /** Resolves with the tree once it covers every event committed before the call. */
  reach(tenant: Tenant): Promise<AuditTreeRecord>;
}

/** The parts of the relay that signing a checkpoint uses. */
type Signing = Pick<Context, "store" | "sealer"> & {
  readonly ports: Pick<Context["ports"], "clock">;
};

/** A signed state of a log. */
export interface Checkpoint {
  readonly size: number;
  readonly root: Uint8Array;
  readonly note: string;
  /** ISO 8601. */
  readonly time: string;
}

/** Signs and stores a checkpoint that covers everything committed before the call. */
export async function makeCheckpoint(
  { store, sealer, ports }: Signing,
  audit: AuditTree,
  tenant: Tenant,
): Promise<Checkpoint> {
  const { size, expired } = await audit.reach(tenant);
  const id = placeId(size);
  const stored = await store.get(checkpoints, tenant, id);
  if (stored !== null) return readStored(stored.note);
  const nowMs = ports.clock.now();
  const statement = {
    origin: originOf(tenant),
    size,
    root: await rootOf(store, tenant, size),
    time: iso(nowMs),
    expired,
    selection: null,
  };
  const key = await auditKeyOf({ store, sealer }, tenant);
  const note = signNote(statementText(statement), key, key.privateKey);
  return await store.transact(async (tx) => {
    const other = await tx.get(checkpoints, tenant, id);
    if (other !== null) return readStored(other.note);
    tx.put(checkpoints, tenant, { id, note, created_at_ms: nowMs });
    return { ...statement, note };
  });
}

/** The newest stored checkpoint, or null. */
export async function newestCheckpoint(
  { store }: Pick<Context, "store">,
  tenant: Tenant,
): Promise<Checkpoint | null> {
  const { items: [newest] } = await store.list(checkpoints, tenant, { limit: 1, reverse: true });
  return newest === undefined ? null : readStored(newest.note);
}

function readStored(note: string): Checkpoint {
  const statement = readStatement(note);
  if (statement === null) throw new Error("a stored checkpoint cannot be read");
  return { ...statement, note };
}

/** A checkpoint as responses show it. */
function showCheckpoint({ size, root, time, note }: Checkpoint) {
  return { tree_size: size, root_hash: root.toBase64(), timestamp: time, note };
}

/** The signed present state of the log, the key that verifies it, and the handovers to that key. */
export async function readCheckpoint(relay: Signing, audit: AuditTree, tenant: Tenant) {
  const checkpoint = await makeCheckpoint(relay, audit, tenant);
  const key = signerOf(await auditKeyOf(relay, tenant), checkpoint.note);
  return {
    ...showCheckpoint(checkpoint),
    origin: key.name,
    public_key: keyText(key),
    handovers: [...key.handovers],
  };
}

/**
 * Proves that the log contains an event.
 * @throws {Fault} NOT_FOUND
 */
export async function proveEvent(
  relay: Signing & Pick<Context, "log">,
  audit: AuditTree,
  tenant: Tenant,
  eventId: string,
) {
  // Only the newest events need to wait for the tree.
  let [found, newest] = await Promise.all([
    findEvent(relay, tenant, eventId),
    newestCheckpoint(relay, tenant),
  ]);
  if (found === null) {
    await audit.reach(tenant);
    found = await findEvent(relay, tenant, eventId);
  }
  if (found === null) {
    throw new Fault("NOT_FOUND", "The log has no event with this id.");
  }
  const { seq, row } = found;
  if (newest === null || newest.size < seq) newest = await makeCheckpoint(relay, audit, tenant);
  const read = nodesOf(relay.store, tenant);
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
 * Proves that the log of `to` rows starts with the log of `from` rows.
 * @throws {Fault} VALIDATION_FAILED when the log never had that many
 */
export async function proveConsistency(
  { store }: Pick<Context, "store">,
  audit: AuditTree,
  tenant: Tenant,
  { from, to }: { from: number; to?: number | undefined },
) {
  const { size } = await audit.reach(tenant);
  const end = to ?? size;
  const issues = [
    ...(end > size ? [{ path: "query.to", message: `the log has ${size} rows` }] : []),
    ...(from > end ? [{ path: "query.from", message: "must not exceed to" }] : []),
  ];
  if (issues.length > 0) {
    throw new Fault("VALIDATION_FAILED", `Give sizes from 1 to ${size}, with from not above to.`, {
      issues,
    });
  }
  const read = nodesOf(store, tenant);
  return {
    from,
    to: end,
    from_root: (await rootOf(store, tenant, from)).toBase64(),
    to_root: (await rootOf(store, tenant, end)).toBase64(),
    path: (await consistencyPath(read, from, end)).map((hash) => hash.toBase64()),
  };
}
