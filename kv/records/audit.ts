import { z } from "zod";
import { collection, type Tenant, tenantKey } from "../store/collection.ts";
import { Sealed } from "./fields.ts";

const Bytes = z.instanceof(Uint8Array);

/**
 * How far a tenant's log is a tree; one record, whose id is the tenant's. What grows with every step is in
 * it, so that a step writes little else.
 */
export const AuditTreeRecord = z.strictObject({
  id: z.string(),
  /** How many events are leaves. */
  size: z.int().min(0),
  /** How many of the oldest events are no longer kept: only their hashes are. */
  expired: z.int().min(0),
  /** The time of the newest row, or of one before it that has a later one; empty when there is none. */
  latest: z.string().default(""),
  /** The last row before which a clock was set back; 0 for none. */
  set_back: z.int().min(0).default(0),
  /** The newest hashes, as many as do not fill a tile. */
  leaves: Bytes,
  /** The first bytes of the newest ids, as many as do not fill a block. */
  ids: Bytes,
});
export type AuditTreeRecord = z.infer<typeof AuditTreeRecord>;

export const auditTrees = collection({
  name: "audit_trees",
  schema: AuditTreeRecord,
  queue: { all: () => [] },
  // Each has 11 KiB at most.
  cached: 2_000,
});

export const auditTreeId = tenantKey;

/** A tree without leaves. */
export const emptyTree = (tenant: Tenant): AuditTreeRecord => ({
  id: auditTreeId(tenant),
  size: 0,
  expired: 0,
  latest: "",
  set_back: 0,
  leaves: new Uint8Array(),
  ids: new Uint8Array(),
});

/** 256 hashes of one level of the tree, from left to right; above the leaves the last tile may have fewer. */
const AuditTileRecord = z.strictObject({
  /** `level.index`; one hash of a level stands for a whole tile of the one below. */
  id: z.string(),
  hashes: Bytes,
});

export const auditTiles = collection({
  name: "audit_tiles",
  schema: AuditTileRecord,
  cached: 1_000,
});

/** Which events are near a place of the log: the first bytes of their ids, 6 bytes each. */
const AuditIdsRecord = z.strictObject({ id: z.string(), ids: Bytes });

/** The ids of each 512 events in a row, in the log's order. */
export const auditIds = collection({ name: "audit_ids", schema: AuditIdsRecord, cached: 1_000 });

/** The same of 65,536 events in a row, sorted into 256 parts by the first byte, with their places. */
export const auditIdParts = collection({ name: "audit_id_parts", schema: AuditIdsRecord });

/** A signed statement of how the log stood; each one stays true of every later state. */
const CheckpointRecord = z.strictObject({
  /** The size, so that checkpoints lie in the log's order. */
  id: z.string(),
  /** The signed note. */
  note: z.string(),
  created_at_ms: z.number(),
});

export const checkpoints = collection({ name: "audit_checkpoints", schema: CheckpointRecord });

/** The Ed25519 key that signs a tenant's checkpoints, and how those before it handed over. */
const AuditKeyRecord = z.strictObject({
  /** The tenant, as `tenantKey` writes it. */
  id: z.string(),
  /** The 32 raw bytes, base64url. */
  public_key: z.string(),
  /** The 32 bytes of the private half, base64url. */
  sealed_private_key: Sealed,
  created_at_ms: z.number(),
  /** A note signed by a key and the one after it, for each that was before this one, oldest first. */
  handovers: z.array(z.string()).default([]),
});

export const auditKeys = collection({ name: "audit_keys", schema: AuditKeyRecord, cached: 10_000 });

/** A number as part of an id that sorts by it. */
export const placeId = (place: number): string => String(place).padStart(15, "0");

/** Where a tile of the tree lies. */
export const tileId = (level: number, index: number): string => `${level}.${placeId(index)}`;
