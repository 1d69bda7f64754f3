import { z } from "zod";

/**
 * The frames of `relay.agent.v1` that report an agent's state and transfer its configuration in either direction.
 * The receiver of an archive requests each piece, so neither side is flooded.
 */

/** Total size of the files in one backup, in bytes. */
export const MAX_CONFIGURATION_BYTES = 16 * 1024 * 1024;
export const MAX_CONFIGURATION_FILES = 1_000;
/** Paths that an agent's operator may list for backup. */
export const MAX_BACKUP_ROOTS = 16;
/** Longest path of a file or folder, in UTF-16 units. */
export const MAX_PATH_LENGTH = 1_024;
/** Largest archive: the files, their descriptions and the worst overhead of compression. */
export const MAX_ARCHIVE_BYTES = MAX_CONFIGURATION_BYTES + 4 * 1024 * 1024;
/** A piece of an archive; in base64 it fits into one frame. */
export const PIECE_BYTES = 120 * 1024;
const PIECE_CHARS = Math.ceil(PIECE_BYTES / 3) * 4;
/** Policies whose digests a state may list. */
const POLICIES_LISTED = 64;

export const whole = (max: number) =>
  z.string().max(max).refine((text) => text.isWellFormed(), "must not hold unpaired surrogates");
export const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
export const jobId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/);
const bytes = z.int().min(0).max(MAX_ARCHIVE_BYTES);
/** The start of a piece, in an archive or in a program. */
const offset = z.int().min(0).max(2 ** 31);

/** An agent's current state; answers `inspect`, and is sent unasked when its policy file changes. */
export const stateFrame = z.object({
  type: z.literal("state"),
  /** The serial of the `inspect` that it answers; 0 for none. */
  serial: z.int().min(0),
  /** The version in the policy file; null when it is missing or unreadable. */
  policy_version: z.string().regex(/^[0-9a-f]{16}$/).nullable(),
  /** Each policy of the file with the SHA-256 of its canonical JSON. */
  policies: z.array(z.object({ name: whole(128), sha256 })).max(POLICIES_LISTED),
  /** The backed-up files; null when none are listed or they cannot be read. */
  files: z.object({ count: z.int().min(0), bytes, sha256 }).nullable(),
  roots: z.array(whole(MAX_PATH_LENGTH)).max(MAX_BACKUP_ROOTS),
  /** Why something could not be read. */
  problem: whole(512).nullable(),
  /** Results of signature checks on this link. */
  verdicts: z.object({
    verified: z.int().min(0),
    refused: z.int().min(0),
    last_refusal: whole(512).nullable(),
  }),
});

/** Asks for a `state`. */
export const inspectFrame = z.object({ type: z.literal("inspect"), serial: z.int().min(1) });

const TRANSFER_KINDS = ["backup", "rehearse", "restore"] as const;
export type TransferKind = (typeof TRANSFER_KINDS)[number];

/** The relay starts a signed transfer from or to the agent. */
export const transferFrame = z.object({
  type: z.literal("transfer"),
  /** Counts these frames on this link; a number that is not above the last one is a replay. */
  serial: z.int().min(1),
  job_id: jobId,
  kind: z.enum(TRANSFER_KINDS),
  /** For a restore: the SHA-256 of the archive; `stored_bytes` is its compressed size. */
  sha256: sha256.nullable(),
  stored_bytes: bytes,
  /** By the verdict key, over `transferText`. */
  signature: z.string().max(128).default(""),
});

/** The agent has packed its configuration. */
export const transferReadyFrame = z.object({
  type: z.literal("transfer_ready"),
  job_id: jobId,
  /** Of the archive, before compression. */
  bytes,
  sha256,
  /** Compressed with gzip. */
  stored_bytes: bytes,
});

/** The receiver requests the piece at an offset. */
export const transferWantFrame = z.object({
  type: z.literal("transfer_want"),
  job_id: jobId,
  offset,
});

export const transferDataFrame = z.object({
  type: z.literal("transfer_data"),
  job_id: jobId,
  offset,
  /** Base64. */
  data: z.string().max(PIECE_CHARS).regex(/^[A-Za-z0-9+/]*={0,2}$/),
});

/** The relay has the whole archive or gives up: the agent drops it. */
export const transferEndFrame = z.object({ type: z.literal("transfer_end"), job_id: jobId });

/** What a restore changes on the agent's machine. */
export const restorePlan = z.object({
  create: z.int().min(0),
  replace: z.int().min(0),
  remove: z.int().min(0),
  unchanged: z.int().min(0),
  /** The first paths that change, and how. */
  changes: z.array(z.object({
    action: z.enum(["create", "replace", "remove"]),
    path: whole(2 * MAX_PATH_LENGTH),
  })).max(50),
});
export type RestorePlan = z.infer<typeof restorePlan>;

/** A restore is complete, or a dry run of it, which wrote nothing. */
export const transferDoneFrame = z.object({
  type: z.literal("transfer_done"),
  job_id: jobId,
  /** The SHA-256 of the archive of the configuration as it is now. */
  sha256,
  plan: restorePlan,
});

export const transferFailedFrame = z.object({
  type: z.literal("transfer_failed"),
  job_id: jobId,
  message: whole(512),
});

export type InspectFrame = z.infer<typeof inspectFrame>;
export type StateFrame = z.infer<typeof stateFrame>;
export type TransferFrame = z.infer<typeof transferFrame>;
export type TransferData = z.infer<typeof transferDataFrame>;
export type TransferWant = z.infer<typeof transferWantFrame>;
/** Frames of an agent during a transfer. */
export type TransferReply =
  | z.infer<typeof transferReadyFrame>
  | TransferWant
  | TransferData
  | z.infer<typeof transferDoneFrame>
  | z.infer<typeof transferFailedFrame>
  | { readonly type: "upgrade_ready"; readonly job_id: string };
/** Frames of the relay during a transfer. */
export type TransferOrder =
  | TransferFrame
  | TransferWant
  | TransferData
  | z.infer<typeof transferEndFrame>;
