import type { Relay } from "../core/relay.ts";
import { type Actor, copyInfo, idsOf, type RequestInfo } from "../core/identity/identity.ts";
import { AGENT_RIGHT, type Connection, type Wire } from "../core/agents/agents.ts";
import { EVENT_RIGHTS } from "../core/events/events.ts";
import { Fault } from "../core/fault/fault.ts";
import { type LimitState, mustPass } from "../core/access/access.ts";
import { AGENT_PROTOCOL, CLOSE_CODES } from "../core/protocol/protocol.ts";
import { parse, parseNoQuery } from "./call/input.ts";
import { recordUse } from "./call/records.ts";
import { resolveAgent } from "./call/resolve_agent.ts";
import { deny } from "./call/rights.ts";
import { followOutput } from "./command_output.ts";
import { openEventSocket } from "./http/event_socket.ts";
import { mustBeAllowedOrigin } from "./http/origin.ts";
import {
  isOption,
  offeredProtocols,
  SPACE,
  spaceOffered,
  STREAM_PROTOCOLS,
} from "./http/protocols.ts";
import { queryOf } from "./http/request.ts";
import { type StreamChoice, StreamQuery } from "./schemas/event_stream.ts";
import { upgrade } from "./http/upgrade.ts";
import type { Upgrade } from "./http/serve_upgrade.ts";

/** `/ws`: an agent's link, by the subprotocol `relay.agent.v1`; without one, a stream of events. */
export const socket: Upgrade = { path: "/ws", handle: openSocket };

async function openSocket(
  relay: Relay,
  actor: Actor,
  request: Request,
  info: RequestInfo,
  limited: (state: LimitState) => void,
): Promise<Response> {
  const asksForLink = offeredProtocols(request.headers).includes(AGENT_PROTOCOL);
  // Agents reconnect all at once, however busy their key is.
  if (asksForLink && mayLink(actor)) return await open(relay, actor, request, info);
  const limit = await relay.limiter.admit(actor, "rest");
  limited(limit);
  mustPass(limit, relay.ports.clock.now());
  let stays = false;
  try {
    const response = await open(relay, actor, request, info);
    stays = !asksForLink; // an event stream gives its connection back at its end
    return response;
  } finally {
    if (!stays) relay.limiter.leave(actor);
  }
}

async function open(
  relay: Relay,
  actor: Actor,
  request: Request,
  info: RequestInfo,
): Promise<Response> {
  const { headers } = request;
  const asked = parse(StreamQuery, queryOf(request), "query") as StreamChoice;
  if (headers.get("upgrade")?.toLowerCase() !== "websocket") {
    throw new Fault("UPGRADE_REQUIRED", "Connect to this path with WebSocket.");
  }
  mustBeAllowedOrigin(relay, request);
  const offered = offeredProtocols(headers);
  if (offered.includes(AGENT_PROTOCOL)) return await openAgentSocket(relay, actor, request, info);
  mustBeKnown(offered);
  mustBeOwnSpace(actor, spaceOffered(headers));
  if (!EVENT_RIGHTS.some((right) => actor.rights.has(right))) {
    throw await deny(relay, ENDPOINT, actor, info, EVENT_RIGHTS);
  }
  await resolveAgent(relay, actor, "agent_id", { params: {}, query: asked, body: {} });
  const choice = { ...asked, last_event_id: info.lastEventId ?? asked.last_event_id };
  // `info` reads the request, which is gone after the upgrade. An event's id is no offset in an output.
  const about = { ...copyInfo(info), lastEventId: null };
  return openEventSocket(relay, actor, request, choice, {
    ids: idsOf(info),
    record: () => recordUse(relay, ENDPOINT, actor, about, SWITCHED),
    // A socket may stay open for days, and its trace must end.
    openOutput: (now, follow, sink) =>
      followOutput(relay, now, { ...about, trace: null }, follow, sink),
  });
}

/** @throws {Fault} VALIDATION_FAILED */
function mustBeKnown(offered: readonly string[]): void {
  const other = offered.find((name) => !STREAM_PROTOCOLS.includes(name) && !isOption(name));
  if (other === undefined) return;
  const known = [AGENT_PROTOCOL, ...STREAM_PROTOCOLS].join(" or ");
  const message = `Offer the subprotocol ${known}, or none.`;
  throw refusedProtocol(message, `unknown: ${other}`);
}

/** A key works in its own space, and a header may have chosen another one. @throws {Fault} VALIDATION_FAILED */
function mustBeOwnSpace({ tenant: { space } }: Actor, offered: string | null): void {
  if (offered === null || offered === space) return;
  const message = `The subprotocol ${SPACE}${offered} contradicts the credential or ` +
    `X-Relay-Space, which stand for ${space}. Offer ${SPACE}${space}, or no space.`;
  throw refusedProtocol(message, `must be ${space}`);
}

const refusedProtocol = (message: string, issue: string): Fault =>
  new Fault("VALIDATION_FAILED", message, {
    issues: [{ path: "headers.sec-websocket-protocol", message: issue }],
  });

const ENDPOINT = { method: "GET", path: "/ws" } as const;
const SWITCHED = 101;

const mayLink = ({ kind, rights }: Actor): boolean =>
  kind === "device" || kind === "api_key" && rights.has(AGENT_RIGHT);

async function openAgentSocket(
  relay: Relay,
  actor: Actor,
  request: Request,
  info: RequestInfo,
): Promise<Response> {
  parseNoQuery(queryOf(request));
  if (actor.kind !== "device" && !actor.rights.has(AGENT_RIGHT)) {
    throw await deny(relay, ENDPOINT, actor, info, [AGENT_RIGHT]);
  }
  if (actor.kind === "user") {
    const message = "An agent connects with a device's credential or an API key, not with a JWT.";
    throw new Fault("FORBIDDEN", message);
  }
  // `info` reads the request, which is gone after the upgrade. The link needs its ids only.
  const { id, trace } = info;
  const { socket, response } = upgrade(request, AGENT_PROTOCOL);
  attach(socket, (wire) => relay.links.open(actor, { id, trace }, wire));
  return response;
}

function attach(socket: WebSocket, open: (wire: Wire) => Connection): void {
  let link: Connection | null = null;
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
