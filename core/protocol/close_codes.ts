/** What an agent does when its link closes: `retry` with backoff, or `stop` with an error. */
export type AfterClose = "retry" | "stop";

/** Every close code of the link. Unknown codes mean `retry`. */
export const CLOSE_CODES = {
  normal: { code: 1000, after: "retry", meaning: "One side closed the link deliberately." },
  going_away: {
    code: 1001,
    after: "retry",
    meaning: "The relay is stopping, or a ping was not answered.",
  },
  malformed_frame: {
    code: 4400,
    after: "retry",
    meaning: "A frame was not valid JSON or did not match its schema.",
  },
  credential_refused: {
    code: 4401,
    after: "stop",
    meaning: "The credential was revoked, expired or lost its rights.",
  },
  identity_refused: {
    code: 4403,
    after: "stop",
    meaning: "The signature is invalid, or this agent belongs to another credential or key.",
  },
  hello_timeout: {
    code: 4408,
    after: "retry",
    meaning: "No hello frame arrived in time after the challenge.",
  },
  replaced: {
    code: 4409,
    after: "stop",
    meaning: "Another link of the same agent replaced this one.",
  },
  deleted: { code: 4410, after: "stop", meaning: "The agent was removed from the relay." },
  frame_too_large: { code: 4413, after: "retry", meaning: "A frame exceeded its size limit." },
  unexpected_frame: { code: 4422, after: "retry", meaning: "A frame arrived out of order." },
  verdict_refused: {
    code: 4424,
    after: "retry",
    meaning: "Commands arrived without a valid verdict; none was started.",
  },
  receipt_refused: {
    code: 4425,
    after: "retry",
    meaning: "Results arrived without a valid receipt; none was recorded.",
  },
  too_many_frames: {
    code: 4428,
    after: "retry",
    meaning: "The agent exceeded a limit per minute: recorded frames, late results or new links.",
  },
  too_slow: { code: 4429, after: "retry", meaning: "The other side read too slowly." },
  unavailable: { code: 4503, after: "retry", meaning: "The relay cannot serve agents now." },
} as const satisfies Record<string, { code: number; after: AfterClose; meaning: string }>;

export type CloseName = keyof typeof CLOSE_CODES;

/** The row of a close code, or undefined when it is unknown. */
export function closeByCode(code: number): { name: CloseName; after: AfterClose } | undefined {
  const found = Object.entries(CLOSE_CODES).find(([, row]) => row.code === code);
  return found && { name: found[0] as CloseName, after: found[1].after };
}
