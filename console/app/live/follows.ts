import type { Host } from "./host.ts";
import type { OutputMessage, Wish } from "./messages.ts";

/** How long to wait before an output that was cut is followed again. */
const AGAIN_MS = 1_000;

/** A message of the socket about a command, before it is understood. */
export interface AboutCommand {
  readonly type: string;
  readonly id: string | null;
  readonly command_id: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** One reader of an output. */
interface Follower {
  /** The offset after what it was told. */
  position: number;
  readonly tell: (message: OutputMessage) => void;
}

/** A command that the socket follows for all of its readers. */
interface Followed {
  readonly agentId: string;
  /** The offset up to which the present stream has come. */
  position: number;
  status: OutputMessage | null;
  readonly followers: Set<Follower>;
  /** Cancels the next attempt. */
  cancel: () => void;
}

/**
 * The outputs that one socket follows. Each reader has its own position, and takes from the socket only what continues
 * it: so a socket that was replaced, or a reader who joined late, causes neither a gap nor a repetition.
 */
export class Follows {
  readonly #followed = new Map<string, Followed>();
  readonly #host: Pick<Host, "after">;
  readonly #send: (frame: unknown) => void;

  /** `send` sends a frame, if the link is there. */
  constructor(host: Pick<Host, "after">, send: (frame: unknown) => void) {
    this.#host = host;
    this.#send = send;
  }

  /** Adds a reader; returns how to remove it. */
  add({ agentId, commandId, from }: Wish, tell: Follower["tell"]): () => void {
    const follower = { position: from, tell };
    let followed = this.#followed.get(commandId);
    const isNew = followed === undefined;
    followed ??= { agentId, position: from, status: null, followers: new Set(), cancel: () => {} };
    followed.followers.add(follower);
    this.#followed.set(commandId, followed);
    if (isNew || from < followed.position) this.#follow(commandId, followed);
    if (followed.status !== null) tell(followed.status);
    return () => this.#remove(commandId, followed, follower);
  }

  /** Follows everything on a new link. */
  resume(): void {
    for (const [id, followed] of this.#followed) this.#follow(id, followed);
  }

  /** Nothing is sent or tried again from now on. */
  stop(): void {
    for (const { cancel } of this.#followed.values()) cancel();
    this.#followed.clear();
  }

  /** Takes a message of the socket. */
  take(message: AboutCommand): void {
    const { command_id: id, data, type } = message;
    const followed = this.#followed.get(id);
    if (followed === undefined) return;
    if (type === "status") {
      followed.status = { type, data: data as never };
      for (const { tell } of followed.followers) tell(followed.status);
    } else if (type === "output") takeOutput(followed, Number(message.id), data as never);
    else if (type === "result") this.#end(id, followed, { type, data: data as never });
    else if (type === "refused") this.#refused(id, followed, data as never);
    else if (type === "end") this.#cut(id, followed, data as never);
  }

  #follow(commandId: string, followed: Followed): void {
    followed.cancel();
    followed.position = Math.min(...[...followed.followers].map(({ position }) => position));
    const { agentId, position } = followed;
    this.#send({ type: "follow", agent_id: agentId, command_id: commandId, from: position });
  }

  #remove(commandId: string, followed: Followed, follower: Follower): void {
    const isLast = followed.followers.delete(follower) && followed.followers.size === 0;
    if (!isLast || this.#followed.get(commandId) !== followed) return;
    this.#forget(commandId, followed);
    this.#send({ type: "unfollow", command_id: commandId });
  }

  /** Tells the last message to the readers who have everything before it. The others are on an earlier stream. */
  #end(commandId: string, followed: Followed, message: OutputMessage & { type: "result" }): void {
    for (const follower of [...followed.followers]) {
      if (follower.position < message.data.next_offset) continue;
      followed.followers.delete(follower);
      follower.tell(message);
    }
    if (followed.followers.size === 0) this.#forget(commandId, followed);
  }

  #refused(
    commandId: string,
    followed: Followed,
    data: { code: string; message: string; details?: { retry_after?: number } },
  ): void {
    // After a cut, the relay may still count the streams of the former socket.
    const seconds = data.details?.retry_after;
    if (seconds !== undefined) return this.#again(commandId, followed, seconds * 1000);
    this.#forget(commandId, followed);
    for (const { tell } of followed.followers) tell({ type: "refused", data });
  }

  #cut(
    commandId: string,
    followed: Followed,
    { name, message, then }: { name: string; message: string; then: string },
  ): void {
    if (then === "resume") return this.#again(commandId, followed, AGAIN_MS);
    this.#refused(commandId, followed, { code: name, message });
  }

  #again(commandId: string, followed: Followed, ms: number): void {
    followed.cancel();
    followed.cancel = this.#host.after(ms, () => this.#follow(commandId, followed));
  }

  #forget(commandId: string, followed: Followed): void {
    followed.cancel();
    this.#followed.delete(commandId);
  }
}

type Chunk = (OutputMessage & { type: "output" })["data"];

function takeOutput(followed: Followed, next: number, chunk: Chunk): void {
  const continues = (position: number) => chunk.offset <= position && position < next;
  if (continues(followed.position)) followed.position = next;
  for (const follower of followed.followers) {
    const { position, tell } = follower;
    if (!continues(position)) continue;
    follower.position = next;
    tell({ type: "output", next, data: position === chunk.offset ? chunk : rest(chunk, position) });
  }
}

/** A chunk from an offset on, which is in its middle when another reader began there. */
function rest({ stream, offset, data }: Chunk, from: number): Chunk {
  const bytes = new TextEncoder().encode(data);
  let start = from - offset;
  while (start > 0 && (bytes[start]! & 0xc0) === 0x80) start--;
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(start));
  return { stream, offset: offset + start, data: text };
}
