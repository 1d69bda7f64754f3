import { z } from "zod";
import { collection } from "../store/collection.ts";
import { madeWith, StoredCreatedWith } from "./fields.ts";

/** An invitation into an organization, in its live space. The code finds it store-wide. */
export const InvitationRecord = z.strictObject({
  id: z.string(),
  /** SHA-256 of the code, hex. */
  hash: z.string(),
  /** The invited address; null for anyone who has the code. */
  email: z.string().nullable(),
  /** The roles that it grants. */
  roles: z.array(z.string()),
  /** The person who grants the roles, and must still be able to when it is accepted. */
  invited_by: z.string(),
  /** The credential that they used; a key must still be able to, too. */
  invited_with: StoredCreatedWith,
  created_at_ms: z.number(),
  /** When it stops being accepted. */
  ends_at_ms: z.number(),
  accepted: z.strictObject({ user_id: z.string(), at_ms: z.number() }).nullable(),
  withdrawn_at_ms: z.number().nullable(),
  /** When the record expires. */
  purge_at_ms: z.number(),
});
export type InvitationRecord = z.infer<typeof InvitationRecord>;

export const invitations = collection({
  name: "invitations",
  schema: InvitationRecord,
  lookup: { code: (invitation) => [invitation.hash] },
  index: {
    all: () => ["all"],
    open: ({ accepted, withdrawn_at_ms, ends_at_ms }) =>
      accepted === null && withdrawn_at_ms === null ? ["open", ends_at_ms] : null,
    made_with: ({ accepted, withdrawn_at_ms, invited_with }) =>
      accepted === null && withdrawn_at_ms === null ? madeWith(invited_with) : null,
  },
  expiresAt: (invitation) => invitation.purge_at_ms,
});
