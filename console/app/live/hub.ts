import type { Space } from "../space.ts";
import { Channel } from "./channel.ts";
import type { Host } from "./host.ts";
import type { FromHub, OutputMessage, ToHub } from "./messages.ts";

/** One tab, as the hub knows it. */
export interface Tab {
  receive(message: ToHub): void;
  /** The tab is gone. */
  leave(): void;
}

/** A channel with whose it is. */
interface Attached {
  /** Account and space. */
  readonly key: string;
  readonly account: string;
  readonly channel: Channel;
}

/**
 * The one connection of a browser: its tabs share a WebSocket for each space that they show. All tabs use the same
 * cookie, so the tabs of another account end when one signs in as somebody else.
 */
export class Hub {
  readonly #channels = new Map<string, Attached>();
  readonly #host: Host;

  constructor(host: Host) {
    this.#host = host;
  }

  /** Adds a tab. */
  join(tell: (message: FromHub) => void): Tab {
    let at: Attached | null = null;
    const follows = new Map<number, () => void>();
    const moveTo = (next: Attached | null) => {
      for (const stop of follows.values()) stop();
      follows.clear();
      const before = at;
      at = next;
      next?.channel.add(tell);
      if (before !== null && before.channel !== next?.channel) this.#leave(before, tell);
    };
    const receive = (message: ToHub) => {
      switch (message.type) {
        case "attach":
          return moveTo(this.#attachedTo(message.account, message.space));
        case "detach":
          return moveTo(null);
        case "unfollow":
          follows.get(message.key)?.();
          follows.delete(message.key);
          return;
        case "follow": {
          const { key } = message;
          const say = (about: OutputMessage) => tell({ type: "output", key, message: about });
          if (at !== null) follows.set(key, at.channel.follows.add(message, say));
        }
      }
    };
    return { receive, leave: () => moveTo(null) };
  }

  #attachedTo(account: string, space: Space): Attached {
    for (const other of this.#channels.values()) {
      if (other.account !== account) other.channel.signedOut();
    }
    const key = `${account} ${space}`;
    const found = this.#channels.get(key) ??
      { key, account, channel: new Channel(this.#host, space) };
    this.#channels.set(key, found);
    return found;
  }

  #leave({ key, channel }: Attached, tell: (message: FromHub) => void): void {
    channel.remove(tell);
    if (!channel.isEmpty) return;
    channel.close();
    channel.follows.stop();
    this.#channels.delete(key);
  }
}
