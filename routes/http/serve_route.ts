import type { Context } from "@hono/hono";
import { ANONYMOUS } from "../../core/access/access.ts";
import type { Relay } from "../../core/relay.ts";
import { Redirect } from "../../core/identity/identity.ts";
import { Accepted, WithCookie, WithSession } from "../../core/identity/identity.ts";
import { call } from "../call/call.ts";
import { queryFor } from "../call/input.ts";
import { deny, denyTestSpace, isClosedTo, missingRights } from "../call/rights.ts";
import { type Content, EventStream, type Route } from "../call/route.ts";
import { content, type Envelope, fixedContent, headersOf, json } from "./answer.ts";
import { BODY_BYTES_MAX, readJson } from "./body.ts";
import { setCookie } from "./cookie.ts";
import {
  type Arrived,
  authenticatorFor,
  identify,
  identifyAgain,
  identifyIfAccepted,
  readsCredential,
} from "./identify.ts";
import { openBounds } from "./open_body.ts";
import { notAllowed, overLimit } from "./refusal.ts";
import type { Env } from "./request.ts";
import { RequestState } from "./request_state.ts";
import { headOf } from "./response_stream.ts";
import { mustBeOwnPage, setSessionCookie } from "./session_cookie.ts";

/** Serves one request to a route: admits it, calls the rule and answers. */
export async function serveRoute(relay: Relay, route: Route, c: Context<Env>): Promise<Response> {
  const state = new RequestState(relay, c, route.path);
  let agent: string | null = null;
  let response: Response;
  try {
    if (c.env.head && route.effect !== "read") throw notAllowed([route.method]);
    await admit(relay, route, state);
    const envelope = state.envelope(route.noStore);
    if (!envelope.limit.admitted) response = overLimit(envelope, relay.ports.clock.now());
    else {
      await mustBeAllowed(relay, route, state);
      response = await dispatch(relay, route, c, state, envelope, (id) => agent = id);
    }
  } catch (error) {
    response = state.failed(error, route.id, route.noStore);
  } finally {
    state.release();
  }
  state.count(route.id, response);
  relay.usage.request(state.actor, route, agent, response.status);
  return response;
}

/** Authenticates the caller and takes the request from the limits that bind it. @throws {Fault} */
async function admit(relay: Relay, route: Route, state: RequestState): Promise<void> {
  if (readsCredential(relay, route, state.raw)) {
    const arrived = arrivedAt(route, state);
    const identified = "public" in route.access
      ? identifyIfAccepted(relay, arrived, authenticatorFor(route))
      : identify(relay, arrived, state.limited);
    state.actor = identified instanceof Promise ? await identified : identified;
  }
  if (state.actor !== ANONYMOUS) await state.admit("rest");
  else if (!route.unlimited && state.limit === null) await state.takeForAddress();
}

/** A few routes change something by GET, or read by POST: either counts as a change. */
const arrivedAt = ({ method, effect }: Route, { raw, info }: RequestState): Arrived => ({
  raw,
  info,
  changes: method !== "GET" || effect !== "read",
});

/** @throws {Fault} FORBIDDEN, INSUFFICIENT_SCOPES, after the denial is recorded */
async function mustBeAllowed(
  relay: Relay,
  route: Route,
  { actor, info, raw }: RequestState,
): Promise<void> {
  if ("public" in route.access && route.access.ownPages) mustBeOwnPage(relay, raw, true);
  if (isClosedTo(actor, route)) throw await denyTestSpace(relay, route, actor, info);
  const missing = missingRights(route, actor);
  if (missing !== null) throw await deny(relay, route, actor, info, missing);
}

async function dispatch(
  relay: Relay,
  route: Route,
  c: Context<Env>,
  state: RequestState,
  envelope: Envelope,
  namesAgent: (id: string) => void,
): Promise<Response> {
  const { actor, info, headers } = state;
  const query = c.req.url.includes("?") ? queryFor(route, c.req.queries()) : {};
  const bounds = actor === ANONYMOUS
    ? openBounds(route, { relay, request: info, query }, state.limited)
    : { bytesMax: route.bodyBytesMax ?? BODY_BYTES_MAX };
  let bodyText = "";
  const result = await call(relay, route, actor, info, {
    params: c.req.param(),
    query,
    body: () => readJson(relay, c.req.raw, bounds, (text) => bodyText = text),
    bodyText: () => bodyText,
    accept: c.req.header("accept") ?? "*/*",
    namesAgent,
    identifyAgain: () => identifyAgain(relay, arrivedAt(route, state), authenticatorFor(route)),
  });
  if (result instanceof Accepted) return json(envelope, 202, result.value);
  const { success } = route;
  if (result instanceof WithCookie) {
    const response = json(envelope, success.status, result.value);
    response.headers.append("set-cookie", setCookie(relay, state.raw, result.cookie));
    return response;
  }
  if (result instanceof Redirect) return redirect(relay, result, state, envelope);
  if (result instanceof WithSession) {
    const response = "body" in success
      ? json(envelope, success.status, result.value)
      : new Response(null, { status: success.status, headers: headersOf(envelope) });
    response.headers.append("set-cookie", setSessionCookie(relay, state.raw, result.session));
    return response;
  }
  if ("body" in success) {
    if (!(result instanceof EventStream)) return json(envelope, success.status, result);
    const headers = { "x-accel-buffering": "no" };
    return await stream(
      { type: success.orStream!, body: result.body, headers },
      c,
      state,
      envelope,
    );
  }
  if (!("content" in success)) {
    return new Response(null, { status: success.status, headers: headersOf(envelope) });
  }
  const answer = result as Content;
  if (success.fixed) return fixedContent(envelope, answer, headers);
  return typeof answer.body === "string"
    ? content(envelope, answer)
    : await stream(answer, c, state, envelope);
}

function redirect(
  relay: Relay,
  { location, cookies, session }: Redirect,
  { raw }: RequestState,
  envelope: Envelope,
): Response {
  const response = new Response(null, {
    status: 303,
    headers: { ...headersOf(envelope), location },
  });
  for (const cookie of cookies) {
    response.headers.append("set-cookie", setCookie(relay, raw, cookie));
  }
  if (session !== null) {
    response.headers.append("set-cookie", setSessionCookie(relay, raw, session));
  }
  return response;
}

/** A response that keeps the connection until its body ends or the client has gone. */
async function stream(
  answer: Content,
  c: Context<Env>,
  state: RequestState,
  envelope: Envelope,
): Promise<Response> {
  const response = content(envelope, answer, state.leave);
  state.keepForStream();
  return c.env.head ? await headOf(response) : response;
}
