import type { Actor, App, RequestInfo } from "../core/app.ts";
import { Link, type Wire } from "../core/agents/link.ts";
import { AGENT_RIGHT } from "../core/agents/links.ts";
import { Fault } from "../core/fault.ts";
import { AGENT_PROTOCOL, CLOSE_CODES } from "../core/protocol.ts";
import { deny } from "./_call.ts";
import type { Upgrade } from "./_mount.ts";

/** `/ws`: an agent's link, by the subprotocol `relay.agent.v1`. */
export const agentSocket: Upgrade = { path: "/ws", handle: openAgentSocket };

async function openAgentSocket(
  app: App,
  actor: Actor,
  request: Request,
  info: RequestInfo,
): Promise<Response> {
  const { headers } = request;
  if (headers.get("upgrade")?.toLowerCase() !== "websocket") {
    throw new Fault("UPGRADE_REQUIRED", "Connect here by WebSocket.");
  }
  const offered = (headers.get("sec-websocket-protocol") ?? "").split(",").map((p) => p.trim());
  if (!offered.includes(AGENT_PROTOCOL)) {
    throw new Fault("VALIDATION_FAILED", `Offer the subprotocol ${AGENT_PROTOCOL}.`, {
      issues: [{ path: "headers.sec-websocket-protocol", message: `must hold ${AGENT_PROTOCOL}` }],
    });
  }
  if (!actor.rights.has(AGENT_RIGHT)) {
    throw await deny(app, { method: "GET", path: "/ws" }, actor, info, [AGENT_RIGHT]);
  }
  if (actor.kind !== "api_key") {
    throw new Fault("FORBIDDEN", "An agent connects with an API key, which outlives a JWT.");
  }
  // `info` looks things up in the request, which the upgrade takes away: copy before.
  const { id, address, idempotencyKey, prefetch } = info;
  const kept = { id, address, idempotencyKey, prefetch };
  const { socket, response } = upgrade(request);
  attach(socket, (wire) => new Link(app, actor, kept, wire));
  return response;
}

/** @throws {Fault} VALIDATION_FAILED for a handshake that lacks something */
function upgrade(request: Request): Deno.WebSocketUpgrade {
  try {
    return Deno.upgradeWebSocket(request, { protocol: AGENT_PROTOCOL });
  } catch (cause) {
    const { message } = cause as Error;
    throw new Fault("VALIDATION_FAILED", `This is no WebSocket handshake: ${message}`, {
      issues: [{ path: "headers", message }],
    }, { cause });
  }
}

function attach(socket: WebSocket, open: (wire: Wire) => Link): void {
  let link: Link | null = null;
  const wire: Wire = {
    send: (text) => socket.send(text),
    close: (code, reason) => socket.close(code, reason),
    get bufferedBytes() {
      return socket.bufferedAmount;
    },
  };
  socket.onopen = () => link = open(wire);
  socket.onmessage = ({ data }) => {
    if (typeof data === "string") link?.receive(data);
    else link?.close("malformed_frame", "frames are JSON text");
  };
  socket.onerror = () => {};
  socket.onclose = ({ code }) => {
    const known = Object.entries(CLOSE_CODES).find(([, row]) => row.code === code)?.[0];
    link?.closed(known ?? "connection_lost");
  };
}
