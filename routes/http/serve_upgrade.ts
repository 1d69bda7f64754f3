import type { Context } from "@hono/hono";
import { authenticateSocket } from "../../core/agents/agents.ts";
import type { LimitState } from "../../core/access/access.ts";
import type { Relay } from "../../core/relay.ts";
import type { Actor, RequestInfo } from "../../core/identity/identity.ts";
import { headersOf } from "./answer.ts";
import { identify } from "./identify.ts";
import { bearerOffered } from "./protocols.ts";
import { notAllowed } from "./refusal.ts";
import { credentialOf, type Env, methodOf } from "./request.ts";
import { RequestState } from "./request_state.ts";
import { serveRefusal } from "./serve_refusal.ts";

/** A path whose handler answers an authenticated request by an upgrade; it throws faults. */
export interface Upgrade {
  readonly path: string;
  readonly handle: (
    relay: Relay,
    actor: Actor,
    request: Request,
    info: RequestInfo,
    /** Notes the limit that the headers of a refusal show. */
    limited: (state: LimitState) => void,
  ) => Response | Promise<Response>;
}

/** Authenticates a request that asks for an upgrade, and hands it to its handler. */
export async function serveUpgrade(
  relay: Relay,
  { path, handle }: Upgrade,
  c: Context<Env>,
): Promise<Response> {
  if (methodOf(c) !== "GET") return serveRefusal(relay, c, path, notAllowed(["GET"]));
  const state = new RequestState(relay, c, path);
  let response: Response;
  try {
    const { raw, info, limited } = state;
    const find = (headers: Headers) => credentialOf(headers) ?? bearerOffered(headers);
    state.actor = await identify(
      relay,
      { raw, info, changes: true },
      limited,
      find,
      authenticateSocket,
    );
    response = await handle(relay, state.actor, raw, info, limited);
    // The runtime makes the response of an upgrade, which lacks the headers of every response.
    const every = headersOf(state.envelope());
    for (const name in every) response.headers.set(name, every[name]!);
  } catch (error) {
    response = state.failed(error, path);
  }
  state.count(path, response);
  relay.usage.request(state.actor, { method: "GET", path }, null, response.status);
  return response;
}
