import { z } from "zod";
import { collection } from "../store/collection.ts";
import { madeWith, StoredCreatedWith } from "./fields.ts";

/** Revoked devices are kept this long, so that their trust can be queried. */
const REVOKED_KEPT_MS = 90 * 24 * 60 * 60 * 1000;
/** Used and expired codes are kept this long, so that errors can say why they fail. */
const CODES_KEPT_MS = 24 * 60 * 60 * 1000;

/** A machine that was paired by a one-time code. It runs an agent with its own credential. */
export const DeviceRecord = z.strictObject({
  id: z.string(),
  name: z.string(),
  /** The name that was reserved for its agent; null once the agent has registered, and where none was. */
  agent_name: z.string().nullable().default(null),
  /** The code that paired it; null where an earlier version did. */
  pairing_code_id: z.string().nullable().default(null),
  /** Labels of its agent, which override those that it reports. */
  labels: z.record(z.string(), z.string()),
  trust: z.enum(["pending", "trusted", "revoked"]),
  /** SHA-256 of the single-use confirmation token, hex. */
  token_hash: z.string(),
  token_expires_at_ms: z.number(),
  /** SHA-256 of the credential, hex; null before confirmation and after revocation. */
  credential_hash: z.string().nullable(),
  /** The agent that registered with it. The credential opens only this agent's link. */
  agent_id: z.string().nullable(),
  /** Who made the pairing code. */
  created_by: z.string(),
  /** The credential that they used. */
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
  announced: "changes",
  lookup: {
    id: (device) => [device.id],
    credential: (device) => device.credential_hash === null ? null : [device.credential_hash],
  },
  index: {
    listed: (device) => device.trust === "revoked" ? null : [device.trust],
    pairing_code: ({ pairing_code_id: code, trust }) =>
      code === null || trust === "revoked" ? null : [code, trust],
    made_with: (device) => device.trust === "revoked" ? null : madeWith(device.created_with),
  },
  expiresAt: ({ revoked_at_ms }) => revoked_at_ms === null ? null : revoked_at_ms + REVOKED_KEPT_MS,
  cached: 20_000,
});

/** A one-time code that pairs a device. */
const PairingCodeRecord = z.strictObject({
  id: z.string(),
  /** SHA-256 of the normalized code, hex. */
  hash: z.string(),
  /** Labels of the device that it pairs. */
  labels: z.record(z.string(), z.string()),
  created_by: z.string(),
  /** The credential that made it. */
  created_with: StoredCreatedWith,
  expires_at_ms: z.number(),
  used_at_ms: z.number().nullable(),
});
export type PairingCodeRecord = z.infer<typeof PairingCodeRecord>;

export const pairingCodes = collection({
  name: "pairing_codes",
  schema: PairingCodeRecord,
  lookup: { hash: (code) => [code.hash] },
  index: { made_with: (code) => code.used_at_ms === null ? madeWith(code.created_with) : null },
  expiresAt: (code) => code.expires_at_ms + CODES_KEPT_MS,
});
