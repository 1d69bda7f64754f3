import { z } from "zod";
import { collection } from "../store/collection.ts";
import { madeWith, StoredCreatedWith } from "./fields.ts";

/** An invitation into an organization. Lives in its live space; the code finds it store-wide. */
export const InvitationRecord = z.strictObject({
  id: z.string(),
  /** SHA-256 of the code, hex. */
  hash: z.string(),
  /** Whom it is for; null for whoever has the code. */
  email: z.string().nullable(),
  /** What the newcomer will be. */
  roles: z.array(z.string()),
  /** The person who gives those roles, and must still be able to when it is accepted. */
  invited_by: z.string(),
  /** The credential that they did it with; of a key the same is true. */
  invited_with: StoredCreatedWith,
  created_at_ms: z.number(),
  /** Until when it can be accepted. */
  ends_at_ms: z.number(),
  accepted: z.strictObject({ user_id: z.string(), at_ms: z.number() }).nullable(),
  withdrawn_at_ms: z.number().nullable(),
  /** Until when it is kept to look at. */
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
