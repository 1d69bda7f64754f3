import { z } from "zod";
import { collection } from "../store/collection.ts";

export const SUSPENSION_REASONS = ["removed", "inactive", "rights"] as const;

/** Why something does not act: what the person for whom it acts lacks. */
export const Suspension = z.strictObject({
  person: z.string(),
  reason: z.enum(SUSPENSION_REASONS),
  missing: z.array(z.string()),
});
export type Suspension = z.infer<typeof Suspension>;

/**
 * What the record of something that acts without its maker says of that. Absent while it acts for its maker
 * and was never suspended, and in records of earlier versions.
 */
export const Standing = z.strictObject({
  /** The person who took it over; null while it acts for its maker. */
  adopted_by: z.string().nullable(),
  /** The suspension that the administrators were told of last; null while there is none. */
  told: Suspension.nullable(),
}).optional();
export type Standing = z.infer<typeof Standing>;

/** Rights of an organization's people changed, and what acts for them has not been looked at since. */
const StandingReviewRecord = z.strictObject({
  id: z.literal("review"),
  /** Another one with each change, so that a review ends only what it has seen. */
  stamp: z.string(),
});

export const standingReviews = collection({
  name: "standing_reviews",
  schema: StandingReviewRecord,
  queue: { all: () => [] },
});
