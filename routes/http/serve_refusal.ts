import type { Context } from "@hono/hono";
import type { Fault } from "../../core/fault/fault.ts";
import type { Relay } from "../../core/relay.ts";
import { type Env, methodOf } from "./request.ts";
import { RequestState } from "./request_state.ts";

/** Refuses and counts a request that no handler takes; `place` names its path in the statistics. */
export function serveRefusal(
  relay: Relay,
  c: Context<Env>,
  place: string,
  fault: Fault,
): Response {
  const state = new RequestState(relay, c, place);
  const response = state.failed(fault, place);
  state.count(place, response);
  const endpoint = { method: methodOf(c), path: place };
  relay.usage.request(state.actor, endpoint, null, response.status);
  return response;
}
