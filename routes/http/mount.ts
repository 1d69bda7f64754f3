import { type Context, Hono } from "@hono/hono";
import { Accepted } from "../../core/work/accepted.ts";
import type { Actor, App, RequestInfo } from "../../core/work/work.ts";
import { WithCookie } from "../../core/work/cookie.ts";
import { ANONYMOUS } from "../../core/access/authenticate.ts";
import { authenticateSocket } from "../../core/agents/devices/holder.ts";
import { Fault } from "../../core/fault/fault.ts";
import { type LimitState, mustPass } from "../../core/access/limits/limiter.ts";
import type { Endpoint } from "../../core/access/usage/day.ts";
import {
  content,
  type Envelope,
  failure,
  faultOf,
  fixedContent,
  headersOf,
  json,
  overLimit,
  setCookie,
  whenRead,
} from "../call/answer.ts";
import { call, deny, denyTestSpace, missingRights } from "../call/call.ts";
import {
  asksWho,
  authenticatorFor,
  identify,
  identifyAgain,
  identifyIfAccepted,
} from "./identify.ts";
import { BODY_BYTES_MAX, readJson } from "./body.ts";
import { parseNoQuery, queryFor, queryOf } from "../call/input.ts";
import { openBounds } from "./open_body.ts";
import { keepPagesOut, letPagesIn } from "./origin.ts";
import { byRank, contestedOf, pattern } from "./paths.ts";
import { bearerOffered } from "./protocols.ts";
import { credentialOf, type Env, hasCredential, HttpRequestInfo, methodOf } from "./request.ts";
import type { Content, Method, Route } from "../call/route.ts";

type Serve = (request: Request, info?: { remoteAddr: Deno.Addr }) => Response | Promise<Response>;

/** A handler that answers an authenticated request by itself, by an upgrade; it throws faults. */
export interface Upgrade {
  readonly path: string;
  readonly handle: (
    app: App,
    actor: Actor,
    request: Request,
    info: RequestInfo,
    /** What the headers of a refusal show. */
    limited: (state: LimitState) => void,
  ) => Response | Promise<Response>;
}

/** A request to a protocol that is spoken beside the route table. */
export interface Visit {
  readonly app: App;
  readonly actor: Actor;
  readonly request: Request;
  readonly info: RequestInfo;
  /** What every response carries. */
  readonly envelope: Envelope;
  /** Who asks, found out again: for answers that stay open. @throws {Fault} */
  readonly identifyAgain: () => Promise<Actor>;
  /** Says that the answer is a stream: its connection counts for as long as it is read. */
  readonly stays: () => void;
}

/** A protocol of its own over HTTP: it knows its callers or does not, and throws faults. */
export interface Service {
  readonly path: `/${string}`;
  readonly methods: readonly Method[];
  /** What a call by a known caller counts as; others count against their address. */
  readonly call: "rest" | "mcp";
  /** Everybody gets the same, whatever credential they show, a dead one too. */
  readonly public?: true;
  /** The `WWW-Authenticate` of a 401. */
  readonly challenge: (app: App, request: Request) => string;
  readonly handle: (visit: Visit) => Response | Promise<Response>;
}

/** Turns declarations into a server. */
export function mount(
  app: App,
  routes: readonly Route[],
  upgrades: readonly Upgrade[],
  services: readonly Service[] = [],
): Serve {
  const hono = new Hono<Env>();
  const ordered = [...routes].sort(byRank);
  for (const { path, handle } of upgrades) {
    const endpoint = { method: "GET", path };
    hono.all(path, (c) => {
      if (methodOf(c) !== "GET") return refuse(app, c, path, notAllowed(["GET"]));
      return guarded(app, c, path, async (info, known, limited) => {
        const { headers } = c.req.raw;
        const find = (headers: Headers) => credentialOf(headers) ?? bearerOffered(headers);
        const actor = await identify(app, headers, info, limited, find, authenticateSocket);
        known(actor);
        return await handle(app, actor, c.req.raw, info, limited);
      }, endpoint);
    });
  }
  for (const service of services) {
    const { path, methods } = service;
    const takes = new Set<string>(methods);
    // One handler for all of them: several on one path would be composed at each request.
    hono.all(
      path,
      (c) =>
        takes.has(methodOf(c)) ? visit(app, service, c) : refuse(app, c, path, notAllowed(methods)),
    );
  }
  const strays = new Hono<Env>();
  const contested = contestedOf(ordered);
  for (const route of ordered) {
    const server = contested.has(route) ? strays : hono;
    server.on(route.method, pattern(route.path), (c) => serve(app, route, c));
  }
  for (const path of new Set(ordered.map((route) => route.path))) {
    const allow = routes.filter((route) => route.path === path).flatMap(methodsOf);
    strays.all(pattern(path), (c) => refuse(app, c, path, notAllowed(allow)));
  }
  strays.notFound((c) => refuse(app, c, "unknown", new Fault("NOT_FOUND")));
  // Apart, because a path with a single handler is served without composing any.
  hono.notFound((c) => strays.fetch(c.req.raw, c.env));
  const answer = (request: Request, info?: { remoteAddr: Deno.Addr }) =>
    request.method === "HEAD"
      // The framework would drop the answer's body, of which the server tells the length and no more.
      ? hono.fetch(new Request(request.url, { headers: request.headers }), {
        ...(info && { remoteAddr: info.remoteAddr }),
        head: true,
      })
      : hono.fetch(request, info ?? {});
  return keepPagesOut(app, letPagesIn(app, answer));
}

/** What a route answers to: where nothing is changed, HEAD like GET. */
const methodsOf = ({ method, effect }: Route): string[] =>
  method === "GET" && effect === "read" ? [method, "HEAD"] : [method];

const notAllowed = (allow: readonly string[]) =>
  new Fault("METHOD_NOT_ALLOWED", `This path takes ${allow.join(", ")}.`, { allow });

/** Admits, limits, calls and answers. */
async function serve(app: App, route: Route, c: Context<Env>): Promise<Response> {
  const startedMs = performance.now();
  const request = new HttpRequestInfo(app, c);
  let limit: LimitState | null = null;
  let actor: Actor = ANONYMOUS;
  let holds = false; // a connection, which is given back however this ends
  let agent: string | null = null;
  let response: Response;
  try {
    if (c.env.head && route.effect !== "read") throw notAllowed([route.method]);
    const { headers } = c.req.raw;
    if (asksWho(route, headers)) {
      const identified = "public" in route.access
        ? identifyIfAccepted(app, headers, request, authenticatorFor(route))
        : identify(app, headers, request, (state) => limit = state);
      actor = identified instanceof Promise ? await identified : identified;
    }
    if (actor !== ANONYMOUS) {
      // Many machines that report must not spend what the organization's people have.
      const admission = actor.kind === "device"
        ? app.limiter.takeForAgent(actor.id, "itself")
        : app.limiter.admit(actor, "rest");
      limit = admission instanceof Promise ? await admission : admission;
      holds = limit.admitted;
    } else if (!route.unlimited && limit === null) {
      limit = await app.limiter.takeForAddress(request.address);
    }
    limit ??= app.limiter.unlimited();
    const envelope = envelopeOf(route, request, limit, actor);
    if (!limit.admitted) response = overLimit(envelope, app.ports.clock.now());
    else {
      if (route.liveOnly && actor.tenant.space === "test") {
        throw await denyTestSpace(app, route, actor, request);
      }
      const missing = missingRights(route, actor);
      if (missing !== null) throw await deny(app, route, actor, request, missing);
      const params = c.req.param();
      agent = route.agent === undefined ? null : params[route.agent]!;
      const query = c.req.url.includes("?") ? queryFor(route, c.req.queries()) : {};
      const bounds = actor === ANONYMOUS
        ? openBounds(route, { app, request, query }, (state) => limit = state)
        : { bytesMax: route.bodyBytesMax ?? BODY_BYTES_MAX };
      let bodyText = "";
      const result = await call(app, route, actor, request, {
        params,
        query,
        body: () => readJson(app, c.req.raw, bounds, (text) => bodyText = text),
        bodyText: () => bodyText,
        accept: c.req.header("accept") ?? "*/*",
        headers,
      });
      response = success(route, envelope, result, headers, () => app.limiter.leave(actor));
      if (isStream(route, result)) {
        holds = false; // the stream holds it now, and gives it back when it ends
        if (c.env.head) response = await unread(response);
      }
    }
  } catch (error) {
    limit ??= app.limiter.unlimited();
    response = fail(app, error, envelopeOf(route, request, limit, actor), route.id);
  } finally {
    if (holds) app.limiter.leave(actor);
  }
  app.metrics.request(route.id, response.status, performance.now() - startedMs);
  app.activity.request(actor.tenant, response.status);
  app.usage.request(actor, route, agent, response.status);
  return response;
}

const envelopeOf = (
  { noStore }: Route,
  { id: requestId }: RequestInfo,
  limit: LimitState,
  { key }: Actor,
): Envelope => ({ requestId, limit, noStore, key });

function success(
  route: Route,
  envelope: Envelope,
  result: unknown,
  asked: Headers,
  ended: () => void,
): Response {
  if (result instanceof Accepted) return json(envelope, 202, result.value);
  const { success } = route;
  if (result instanceof WithCookie) {
    const response = json(envelope, success.status, result.value);
    response.headers.append("set-cookie", setCookie(result.cookie));
    return response;
  }
  if ("content" in success) {
    return success.fixed
      ? fixedContent(envelope, result as Content, asked)
      : content(envelope, result as Content, ended);
  }
  if ("body" in success) return json(envelope, success.status, result);
  return new Response(null, { status: success.status, headers: headersOf(envelope) });
}

/** The head of a stream that nobody reads. It has a body all the same: one without would have a length, 0. */
async function unread(stream: Response): Promise<Response> {
  await stream.body?.cancel();
  return new Response(new ReadableStream({ start: (end) => end.close() }), stream);
}

const isStream = ({ success }: Route, result: unknown): boolean =>
  "content" in success && typeof (result as Content).body !== "string";

/** Admits and limits a request to a service, which answers it. */
async function visit(app: App, service: Service, c: Context<Env>): Promise<Response> {
  const startedMs = performance.now();
  const { raw } = c.req;
  const info = new HttpRequestInfo(app, c);
  let limit: LimitState = app.limiter.unlimited();
  let actor: Actor = ANONYMOUS;
  let holds = false; // a connection, which is given back however this ends
  let stays = false;
  let response: Response;
  try {
    const known = !service.public && hasCredential(raw.headers);
    if (known) {
      actor = await identify(app, raw.headers, info, (state) => limit = state);
      limit = await app.limiter.admit(actor, service.call);
      holds = limit.admitted;
    } else limit = await app.limiter.takeForAddress(info.address);
    mustPass(limit, app.ports.clock.now());
    parseNoQuery(queryOf(raw));
    const envelope = { requestId: info.id, limit, key: actor.key };
    response = await service.handle({
      app,
      actor,
      request: raw,
      info,
      envelope,
      identifyAgain: async () => known ? await identifyAgain(app, raw.headers) : ANONYMOUS,
      stays: () => stays = true,
    });
    if (holds && stays) {
      holds = false; // the stream holds it now, and gives it back when it ends
      response = whenRead(response, () => app.limiter.leave(actor));
    }
  } catch (error) {
    response = fail(app, error, { requestId: info.id, limit, key: actor.key }, service.path);
    if (response.status === 401) {
      response.headers.set("www-authenticate", service.challenge(app, raw));
    }
  } finally {
    if (holds) app.limiter.leave(actor);
  }
  app.metrics.request(service.path, response.status, performance.now() - startedMs);
  app.activity.request(actor.tenant, response.status);
  if (response.status === 429 || service.call === "rest") {
    app.usage.request(actor, { method: c.req.method, path: service.path }, null, response.status);
  } else app.usage.mcpCall(actor, null);
  return response;
}

/** Runs a handler outside the route table under the same limits and error shape; it tells who asks. */
async function guarded(
  app: App,
  c: Context<Env>,
  id: string,
  handle: (
    info: RequestInfo,
    known: (actor: Actor) => void,
    limited: (state: LimitState) => void,
  ) => Promise<Response>,
  endpoint: Endpoint = { method: methodOf(c), path: id },
): Promise<Response> {
  const startedMs = performance.now();
  const request = new HttpRequestInfo(app, c);
  let limit = app.limiter.unlimited();
  let actor: Actor = ANONYMOUS;
  let response: Response;
  try {
    response = await handle(request, (known) => actor = known, (state) => limit = state);
    // An upgrade's response comes from the runtime, so it lacks what every response carries.
    const carried = headersOf({ requestId: request.id, limit, key: actor.key });
    for (const name in carried) response.headers.set(name, carried[name]!);
  } catch (error) {
    response = fail(app, error, { requestId: request.id, limit, key: actor.key }, id);
  }
  app.metrics.request(id, response.status, performance.now() - startedMs);
  app.activity.request(actor.tenant, response.status);
  app.usage.request(actor, endpoint, null, response.status);
  return response;
}

async function refuse(app: App, c: Context<Env>, id: string, fault: Fault): Promise<Response> {
  return await guarded(app, c, id, () => Promise.reject(fault));
}

function fail(app: App, error: unknown, envelope: Envelope, id: string): Response {
  const fault = faultOf(error);
  if (fault === null) {
    app.ports.log.error("a request failed by a bug", {
      request_id: envelope.requestId,
      route: id,
      error: error instanceof Error ? error.stack : String(error),
    });
  }
  return failure(envelope, fault ?? new Fault("INTERNAL_ERROR"));
}
