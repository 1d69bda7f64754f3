import { z } from "zod";
import { type StreamChoice, StreamQuery } from "../schemas/event_stream.ts";

const FRAME_BYTES_MAX = 4 * 1024;
/** The most characters of a command's id in a frame. */
const COMMAND_ID_MAX = 100;

/** Asks for a command's output on this socket. */
export interface Follow {
  readonly agent_id: string;
  readonly command_id: string;
  /** The offset to begin at, in bytes. */
  readonly from: number;
}

/** A frame of an event stream's client. */
export type Frame =
  | { readonly type: "ping" }
  | { readonly type: "resume"; readonly choice: StreamChoice }
  | { readonly type: "follow"; readonly follow: Follow }
  | { readonly type: "unfollow"; readonly command_id: string }
  /** A frame about a command that says something else than it may. */
  | { readonly type: "invalid_follow"; readonly command_id: string }
  | { readonly type: "unknown_frame" | "malformed_frame" | "frame_too_large" };

const CommandId = z.string().min(1).max(COMMAND_ID_MAX);

const Ping = z.looseObject({ type: z.literal("ping") });
const AnyResume = z.looseObject({ type: z.literal("resume") });
/** Asks to continue from another event, or with another filter. */
const Resume = z.strictObject({ type: z.literal("resume"), ...StreamQuery.shape });
const AnyFollow = z.looseObject({ type: z.literal("follow"), command_id: CommandId });
const Follow = z.strictObject({
  type: z.literal("follow"),
  agent_id: z.string(),
  command_id: CommandId,
  from: z.int().min(0).default(0),
});
const Unfollow = z.looseObject({ type: z.literal("unfollow"), command_id: CommandId });

/** Reads what a client has sent. Never throws. */
export function readFrame(data: unknown): Frame {
  if (typeof data === "string" && data.length > FRAME_BYTES_MAX) return { type: "frame_too_large" };
  const frame = typeof data === "string" ? jsonOf(data) : null;
  if (Ping.safeParse(frame).success) return { type: "ping" };
  if (AnyResume.safeParse(frame).success) {
    const resume = Resume.safeParse(frame).data;
    if (resume === undefined) return { type: "malformed_frame" };
    const { type, ...choice } = resume;
    return { type, choice };
  }
  const asked = AnyFollow.safeParse(frame).data;
  if (asked !== undefined) {
    const follow = Follow.safeParse(frame).data;
    return follow === undefined
      ? { type: "invalid_follow", command_id: asked.command_id }
      : { type: "follow", follow };
  }
  return Unfollow.safeParse(frame).data ?? { type: "unknown_frame" };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
