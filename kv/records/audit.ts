import { z } from "zod";
import { collection, type Tenant, tenantKey } from "../store/collection.ts";
import { Sealed } from "./fields.ts";

const Bytes = z.instanceof(Uint8Array);

/**
 * The state of a tenant's audit tree. It holds everything that grows with each step, so that a step writes
 * little else. Its id is the tenant's.
 */
export const AuditTreeRecord = z.strictObject({
  id: z.string(),
  /** How many events are leaves. */
  size: z.int().min(0),
  /** How many of the oldest events were deleted. Their hashes are kept. */
  expired: z.int().min(0),
  /** The latest time of any row; empty when there is none. */
  latest: z.string().default(""),
  /** The last row with an earlier time than one before it; 0 for none. */
  set_back: z.int().min(0).default(0),
  /** The newest hashes, which do not fill a tile yet. */
  leaves: Bytes,
  /** The first bytes of the newest ids, which do not fill a block yet. */
  ids: Bytes,
});
export type AuditTreeRecord = z.infer<typeof AuditTreeRecord>;

export const auditTrees = collection({
  name: "audit_trees",
  schema: AuditTreeRecord,
  queue: { all: () => [] },
  // Each record has at most 11 KiB.
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

/** 256 hashes of one level of the tree, from left to right. Above the leaves, the last tile may have fewer. */
const AuditTileRecord = z.strictObject({
  /** `level.index`. One hash of a level covers a tile of the level below. */
  id: z.string(),
  hashes: Bytes,
});

export const auditTiles = collection({
  name: "audit_tiles",
  schema: AuditTileRecord,
  cached: 1_000,
});

/** The first 6 bytes of the ids of a range of events. */
const AuditIdsRecord = z.strictObject({ id: z.string(), ids: Bytes });

/** The ids of 512 consecutive events, in log order. */
export const auditIds = collection({ name: "audit_ids", schema: AuditIdsRecord, cached: 1_000 });

/** The ids of 65,536 consecutive events with their places, in 256 parts by the first byte. */
export const auditIdParts = collection({ name: "audit_id_parts", schema: AuditIdsRecord });

/** A signed statement of the log's state. Each stays true of every later state. */
const CheckpointRecord = z.strictObject({
  /** The size, so that checkpoints sort in log order. */
  id: z.string(),
  /** The signed note. */
  note: z.string(),
  created_at_ms: z.number(),
});

export const checkpoints = collection({ name: "audit_checkpoints", schema: CheckpointRecord });

/** The Ed25519 key that signs a tenant's checkpoints, with its predecessors' handovers. */
const AuditKeyRecord = z.strictObject({
  /** The tenant, as `tenantKey` writes it. */
  id: z.string(),
  /** The 32 raw bytes, base64url. */
  public_key: z.string(),
  /** The 32 bytes of the private half, base64url. */
  sealed_private_key: Sealed,
  created_at_ms: z.number(),
  /** For each earlier key, oldest first, a note that it and its successor signed. */
  handovers: z.array(z.string()).default([]),
});

export const auditKeys = collection({ name: "audit_keys", schema: AuditKeyRecord, cached: 10_000 });

/** A number as part of an id, padded so that ids sort by it. */
export const placeId = (place: number): string => String(place).padStart(15, "0");

/** The id of a tile. */
export const tileId = (level: number, index: number): string => `${level}.${placeId(index)}`;
