import { z } from "zod";
import { collection } from "../store/collection.ts";

export const SUSPENSION_REASONS = ["removed", "inactive", "rights"] as const;

/** Why a resource is suspended: its person was removed, is inactive or lacks rights. */
export const Suspension = z.strictObject({
  person: z.string(),
  reason: z.enum(SUSPENSION_REASONS),
  missing: z.array(z.string()),
});
export type Suspension = z.infer<typeof Suspension>;

/**
 * The person whose rights bound a resource that acts on its own, and its suspension. Absent in records of earlier
 * versions, and while the resource acts for its maker and was never suspended.
 */
export const Standing = z.strictObject({
  /** The person who took it over; null while it acts for its maker. */
  adopted_by: z.string().nullable(),
  /** The suspension that administrators were last notified of; null without one. */
  told: Suspension.nullable(),
}).optional();
export type Standing = z.infer<typeof Standing>;

/** Set when rights of an organization's people changed, until everything that acts for them is reviewed. */
const StandingReviewRecord = z.strictObject({
  id: z.literal("review"),
  /** New with each change, so that a review clears only the changes that it saw. */
  stamp: z.string(),
});

export const standingReviews = collection({
  name: "standing_reviews",
  schema: StandingReviewRecord,
  queue: { all: () => [] },
});
