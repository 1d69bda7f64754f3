import {
  CLOSE_CODES,
  closeByCode,
  type CloseName,
  fitsBytes,
  MAX_RELAY_FRAME_BYTES,
  parseRelayFrame,
  type RelayFrame,
  type WelcomeFrame,
} from "../../../protocol/protocol.ts";
import { printableLine } from "../../printable_line.ts";
import type { AgentHost, AgentSocket, SocketEnd } from "../interfaces.ts";
import { anotherKey, pairAgain, type Target } from "./trust_again.ts";

/** The time from dialling to `welcome`, after which the agent dials again. */
const WELCOME_TIMEOUT_MS = 15_000;
/** Added to two heartbeats before a link without answers counts as dead. */
const SILENCE_MARGIN_MS = 5_000;
/** The time that a close waits for the relay's answer. */
const CLOSE_TIMEOUT_MS = 1_000;

/** How a link ended: after `lost` the agent dials again, `refused` is final. */
export type LinkEnd =
  | { readonly kind: "lost"; readonly why: string; readonly upMs: number }
  | { readonly kind: "refused"; readonly why: string };

const REFUSED = "the relay refused this agent";

/** The relay's frames after its welcome. */
export type Order = Exclude<
  RelayFrame,
  { type: "challenge" | "welcome" | "heartbeat_ack" | "error" }
>;

/** The agent's verdict on a welcome. Only a key other than the pinned one is final. */
export type Welcomed = "accepted" | "unproven" | "another_key";

/** The agent's side of a link. */
export interface LinkEvents {
  /** The text of `hello` in answer to the relay's challenge. */
  hello(challenge: string): string;
  welcomed(frame: WelcomeFrame, socket: AgentSocket): Welcomed;
  /** Carries out an order. Returns why the link must end, or null. */
  ordered(order: Order): CloseName | null;
  /** Called for each answer to a heartbeat. */
  heard(): void;
  health(): "ok" | "degraded" | "error";
}

export interface Link {
  readonly ended: Promise<LinkEnd>;
  /** Closes with 1000 after everything sent; resolves when the relay has answered, or after 1 s. */
  leave(reason: string): Promise<void>;
}

/** Dials the relay once, completes the handshake and keeps the link until it ends. */
export function openLink(
  host: AgentHost,
  target: Target,
  events: LinkEvents,
): Link {
  const { clock } = host;
  const { promise: ended, resolve } = Promise.withResolvers<LinkEnd>();
  let over = false;
  let challenged = false;
  let welcomedAt: number | undefined;
  let lastError = "";
  /** The time of the welcome or of the last answer to a heartbeat. */
  let answeredAt = 0;
  let cancelTimer = clock.after(WELCOME_TIMEOUT_MS, () => hangUp("hello_timeout", "no welcome"));
  const socket = host.dial(target.url, target.token, { message, closed });

  function end(value: LinkEnd) {
    over = true;
    cancelTimer();
    resolve(value);
  }

  function lost(why: string) {
    end({ kind: "lost", why, upMs: welcomedAt === undefined ? 0 : clock.now() - welcomedAt });
  }

  // Do not wait for the closing handshake, which never comes on a dead connection.
  function hangUp(name: CloseName, why: string) {
    if (over) return;
    lost(why);
    socket.close(CLOSE_CODES[name].code, why);
  }

  function refuse(why: string) {
    end({ kind: "refused", why });
    socket.close(CLOSE_CODES.normal.code, "refused by the agent");
  }

  function message(text: string | null) {
    if (over) return;
    try {
      take(text);
    } catch (error) {
      // For example an unreadable file: commands continue, and the link is dialled again.
      lost((error as Error).message);
      socket.close(CLOSE_CODES.normal.code, "the agent cannot continue");
    }
  }

  function take(text: string | null) {
    if (text === null) return hangUp("malformed_frame", "the relay sent a binary frame");
    if (!fitsBytes(text, MAX_RELAY_FRAME_BYTES)) {
      return hangUp("frame_too_large", "the relay sent a frame that is too large");
    }
    const frame = parseRelayFrame(text);
    if (frame === null) return hangUp("malformed_frame", "the relay sent a malformed frame");
    if (frame === "unknown") return;
    switch (frame.type) {
      case "error":
        lastError = `${frame.code}: ${frame.message}`;
        return;
      case "heartbeat_ack":
        answeredAt = clock.now();
        events.heard();
        return;
      case "challenge":
        if (challenged) return hangUp("unexpected_frame", "the relay sent a second challenge");
        challenged = true;
        socket.send(events.hello(frame.nonce));
        return;
      case "welcome":
        return welcome(frame);
      default:
        return order(frame);
    }
  }

  function order(frame: Order) {
    if (welcomedAt === undefined) {
      return hangUp("unexpected_frame", "the relay sent an order before its welcome");
    }
    const wrong = events.ordered(frame);
    if (wrong !== null) hangUp(wrong, CLOSE_CODES[wrong].meaning);
  }

  function welcome(frame: WelcomeFrame) {
    if (!challenged || welcomedAt !== undefined) {
      return hangUp("unexpected_frame", "the relay sent welcome out of order");
    }
    cancelTimer();
    answeredAt = welcomedAt = clock.now();
    const welcomed = events.welcomed(frame, socket);
    if (welcomed === "another_key") {
      return refuse(anotherKey(target, frame.verdict_key));
    }
    if (welcomed === "unproven") {
      return hangUp("verdict_refused", "the relay does not hold the verdict key that it presents");
    }
    beat(frame.heartbeat_seconds * 1000);
  }

  function beat(everyMs: number) {
    cancelTimer = clock.after(everyMs, () => {
      if (clock.now() - answeredAt > 2 * everyMs + SILENCE_MARGIN_MS) {
        return hangUp("too_slow", "the relay stopped answering");
      }
      socket.send(JSON.stringify({ type: "heartbeat", status: events.health() }));
      beat(everyMs);
    });
  }

  function closed(socketEnd: SocketEnd) {
    if (over) return;
    const { code, reason, status } = socketEnd;
    const said = printableLine([lastError, reason].filter((text) => text !== "").join("; "));
    if (status === 401 || status === 403) {
      const why = `${REFUSED}: HTTP ${status} ${printableLine(reason)}`.trim();
      end({ kind: "refused", why: why + pairAgain(target) });
    } else if (closeByCode(code)?.after === "stop") {
      const name = closeByCode(code)?.name;
      end({ kind: "refused", why: `${REFUSED}: ${name} (${code}) ${said}`.trim() });
    } else if (status !== undefined) {
      lost(`HTTP ${status}`);
    } else {
      lost(code === 0 ? said || "the connection broke" : `closed with ${code} ${said}`.trim());
    }
  }

  return {
    ended,
    async leave(reason) {
      if (over) return;
      socket.close(CLOSE_CODES.normal.code, reason);
      const cancel = clock.after(CLOSE_TIMEOUT_MS, () => {
        if (!over) lost("left");
      });
      await ended;
      cancel();
    },
  };
}
