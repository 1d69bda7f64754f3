/** Why a stream ends. Codes are WebSocket close codes; an event stream says the same in its last event. */
export const STREAM_ENDS = {
  // Connect again at once and go on from the last id.
  going_away: { code: 1012, then: "resume", meaning: "The relay is stopping." },
  too_slow: {
    code: 4408,
    then: "resume",
    meaning: "More than 1 MiB waited for the client, or nothing was taken for 15 s.",
  },
  // The runtime closes a WebSocket like this by itself; no event stream ends so.
  unresponsive: { code: 1001, then: "resume", meaning: "No answer to a ping came for 30 s." },
  interrupted: {
    code: 4409,
    then: "resume",
    meaning: "The log, or the credential, could not be read; it will be.",
  },
  // Connect again with another credential, or after rights were given.
  credential_ended: {
    code: 4401,
    then: "sign in again",
    meaning: "The credential expired, was revoked, or its holder is not active any more.",
  },
  rights_lost: { code: 4403, then: "ask for rights", meaning: "No event may be read any more." },
  // Mend the client first.
  malformed_frame: {
    code: 4400,
    then: "mend the client",
    meaning: "A resume frame has fields that it cannot have.",
  },
  frame_too_large: { code: 4413, then: "mend the client", meaning: "A frame had over 4 KiB." },
} as const satisfies Record<string, { code: number; then: string; meaning: string }>;

export type StreamEnd = keyof typeof STREAM_ENDS;
