import type { Ports } from "../../ports/ports.ts";

/** Why a stream ends: the WebSocket close code, also given in the last server-sent event. */
export const STREAM_ENDS = {
  // The client reconnects at once and resumes from its last id.
  going_away: { code: 1012, then: "resume", meaning: "The relay is stopping." },
  too_slow: {
    code: 4408,
    then: "resume",
    meaning: "The client read too slowly: over 1 MiB was waiting, or it read nothing for 15 s.",
  },
  // Only WebSockets: the runtime closes them itself after a missed ping.
  unresponsive: {
    code: 1001,
    then: "resume",
    meaning: "The client did not answer a ping within 30 s.",
  },
  interrupted: {
    code: 4409,
    then: "resume",
    meaning: "The stream's content or the credential could not be read for the moment.",
  },
  // The client reconnects with another credential, or after it was granted rights.
  credential_ended: {
    code: 4401,
    then: "sign in again",
    meaning: "The credential expired, was revoked, or its holder is no longer active.",
  },
  rights_lost: {
    code: 4403,
    then: "ask for rights",
    meaning: "The credential may no longer read this stream.",
  },
  // The client has a bug.
  malformed_frame: {
    code: 4400,
    then: "fix the client",
    meaning: "A resume frame has invalid fields.",
  },
  frame_too_large: {
    code: 4413,
    then: "fix the client",
    meaning: "A frame was larger than 4 KiB.",
  },
} as const satisfies Record<string, { code: number; then: string; meaning: string }>;

export type StreamEnd = keyof typeof STREAM_ENDS;

/** A random reconnect delay of 1 to 5 s, so that clients do not all return at once after a stop. */
export const reconnectDelayMs = (
  { ports: { entropy } }: { readonly ports: Pick<Ports, "entropy"> },
): number => Math.round(1_000 + entropy.unit() * 4_000);
