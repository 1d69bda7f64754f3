/** What an agent does when its link closes: `retry` with backoff, or `stop` with an error. */
export type AfterClose = "retry" | "stop";

/** Every close code of the link. Unknown codes mean `retry`. */
export const CLOSE_CODES = {
  normal: { code: 1000, after: "retry", meaning: "One side left on purpose." },
  going_away: { code: 1001, after: "retry", meaning: "The relay stops, or a ping got no answer." },
  malformed_frame: {
    code: 4400,
    after: "retry",
    meaning: "A frame was not JSON or not its schema.",
  },
  credential_refused: {
    code: 4401,
    after: "stop",
    meaning: "The credential was revoked, has expired or lost its rights.",
  },
  identity_refused: {
    code: 4403,
    after: "stop",
    meaning: "The signature is wrong, or this agent belongs to another credential or key.",
  },
  hello_timeout: { code: 4408, after: "retry", meaning: "No hello in time after the challenge." },
  replaced: { code: 4409, after: "stop", meaning: "Another link of the same agent took over." },
  deleted: { code: 4410, after: "stop", meaning: "The agent was removed from the relay." },
  frame_too_large: { code: 4413, after: "retry", meaning: "A frame was larger than its cap." },
  unexpected_frame: { code: 4422, after: "retry", meaning: "A frame came out of its order." },
  verdict_refused: {
    code: 4424,
    after: "retry",
    meaning: "Commands came without a valid verdict; none of them was started.",
  },
  receipt_refused: {
    code: 4425,
    after: "retry",
    meaning: "Results came without a valid receipt; none of them was recorded.",
  },
  too_many_frames: {
    code: 4428,
    after: "retry",
    meaning:
      "More came unasked in a minute than may: frames that go on record, late results, or links.",
  },
  too_slow: { code: 4429, after: "retry", meaning: "The other side did not read fast enough." },
  unavailable: { code: 4503, after: "retry", meaning: "The relay cannot serve agents right now." },
} as const satisfies Record<string, { code: number; after: AfterClose; meaning: string }>;

export type CloseName = keyof typeof CLOSE_CODES;

/** The row of a close code, or undefined when it is unknown. */
export function closeByCode(code: number): { name: CloseName; after: AfterClose } | undefined {
  const found = Object.entries(CLOSE_CODES).find(([, row]) => row.code === code);
  return found && { name: found[0] as CloseName, after: found[1].after };
}
