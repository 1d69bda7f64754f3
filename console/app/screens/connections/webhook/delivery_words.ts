import type { Delivery, DeliveryDetail } from "../../../../../core/client/client.ts";

/** How many of these deliveries failed, of those that were attempted; null for none. */
export function failureShare(
  deliveries: readonly Pick<Delivery, "status">[],
): { failed: number; of: number } | null {
  const attempted = deliveries.filter(({ status }) => status !== "pending" && status !== "sending");
  if (attempted.length === 0) return null;
  const failed = attempted.filter(({ status }) => status !== "succeeded").length;
  return { failed, of: attempted.length };
}

/** The types of resources whose changes make deliveries. */
export const CAUSES = [
  "webhook",
  "agent",
  "command",
  "approval",
  "policy",
  "report",
  "mcp_session",
];
/** A list of deliveries is fetched again at most once in this time, because attempts may be many. */
export const ATTEMPTS_EVERY_MS = 1_000;
/** A new stream may miss attempts of other instances, so deliveries that are due are fetched again after this. */
export const MISSED_MS = 10_000;
/** Most deliveries have ended this long after their event. */
export const FOLLOWS_MS = 500;

/** The clocks of relay and browser may differ a little. */
const EARLY_MS = 1_000;

/** True when a delivery is about to change without anybody's doing: it is under way, or its next attempt is due. */
export const isDue = (
  { status, held, next_attempt_at: next }: Pick<Delivery, "status" | "held" | "next_attempt_at">,
  nowMs: number,
): boolean =>
  !held &&
  (status === "pending" || status === "sending" ||
    next !== null && Date.parse(next) <= nowMs + EARLY_MS);

/** What the error of an attempt means. */
const ERRORS: Readonly<Record<string, string>> = {
  http: "the receiver did not answer with a 2xx status",
  timeout: "the receiver did not answer in time",
  dns: "the host's name could not be resolved",
  connect: "no connection could be made",
  tls: "no secure connection could be made",
  refused_address: "the URL leads to an address that Relay does not connect to",
  not_allowed:
    "not sent: the webhook no longer subscribes to the type, or its person may not read it",
  lost: "Relay ended during the attempt; the delivery may have arrived",
  discarded: "it was held and then discarded",
  internal: "Relay could not make the request; its log says why",
};

/** Why an attempt failed, in words. */
const errorWords = (error: string): string => ERRORS[error] ?? error;

/** The answer of an attempt in a few words. */
export function answerWords(
  { http_status, error }: Pick<DeliveryDetail["attempts"][number], "http_status" | "error">,
): string {
  if (error !== null && error !== "http") return errorWords(error);
  return http_status === null ? "no answer yet" : `status ${http_status}`;
}
