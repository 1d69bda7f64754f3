import { z } from "zod";
import { collection } from "../store/collection.ts";
import { madeWith, StoredCreatedWith } from "./fields.ts";

/** Revoked devices are remembered this long, so that their trust can be asked for. */
const REVOKED_KEPT_MS = 90 * 24 * 60 * 60 * 1000;
/** Codes that are over are remembered this long, so that it can be said why they do not work. */
const CODES_KEPT_MS = 24 * 60 * 60 * 1000;

/** A machine that was paired by a one-time code, and runs an agent with a credential of its own. */
export const DeviceRecord = z.strictObject({
  id: z.string(),
  name: z.string(),
  /** Labels that its agent has, whatever it tells of them. */
  labels: z.record(z.string(), z.string()),
  trust: z.enum(["pending", "trusted", "revoked"]),
  /** SHA-256 of the single-use token of the confirmation, hex. */
  token_hash: z.string(),
  token_expires_at_ms: z.number(),
  /** SHA-256 of the credential, hex; null before the confirmation and after the end. */
  credential_hash: z.string().nullable(),
  /** The agent that registered with it: it opens this one's link only. */
  agent_id: z.string().nullable(),
  /** Who made the pairing code. */
  created_by: z.string(),
  /** The credential that they made it with. */
  created_with: StoredCreatedWith,
  created_at_ms: z.number(),
  confirmed_at_ms: z.number().nullable(),
  revoked_at_ms: z.number().nullable(),
  revoked_by: z.string().nullable(),
});
export type DeviceRecord = z.infer<typeof DeviceRecord>;

export const devices = collection({
  name: "devices",
  schema: DeviceRecord,
  lookup: {
    id: (device) => [device.id],
    credential: (device) => device.credential_hash === null ? null : [device.credential_hash],
  },
  index: {
    listed: (device) => device.trust === "revoked" ? null : [device.trust],
    made_with: (device) => device.trust === "revoked" ? null : madeWith(device.created_with),
  },
  expiresAt: ({ revoked_at_ms }) => revoked_at_ms === null ? null : revoked_at_ms + REVOKED_KEPT_MS,
  cached: 20_000,
});

/** A one-time code that lets a device in. */
const PairingCodeRecord = z.strictObject({
  id: z.string(),
  /** SHA-256 of the code as it is compared, hex. */
  hash: z.string(),
  /** Labels of the device that it lets in. */
  labels: z.record(z.string(), z.string()),
  created_by: z.string(),
  /** The credential that it was made with. */
  created_with: StoredCreatedWith,
  expires_at_ms: z.number(),
  used_at_ms: z.number().nullable(),
});

export const pairingCodes = collection({
  name: "pairing_codes",
  schema: PairingCodeRecord,
  lookup: { hash: (code) => [code.hash] },
  index: { made_with: (code) => code.used_at_ms === null ? madeWith(code.created_with) : null },
  expiresAt: (code) => code.expires_at_ms + CODES_KEPT_MS,
});
