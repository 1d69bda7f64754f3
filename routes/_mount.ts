import { type Context, Hono } from "@hono/hono";
import { Accepted } from "../core/accepted.ts";
import type { Actor, App, RequestInfo } from "../core/app.ts";
import { ANONYMOUS, authenticate } from "../core/authenticate.ts";
import { Fault } from "../core/fault.ts";
import { type LimitState, mustPass } from "../core/limiter.ts";
import { clientAddress } from "./_address.ts";
import { content, type Envelope, failure, faultOf, headersOf, json } from "./_answer.ts";
import { call, deny, missingRights } from "./_call.ts";
import { NO_QUERY, parse, readJson } from "./_input.ts";
import type { Content, Method, Route } from "./_route.ts";

type Env = { Bindings: { remoteAddr?: Deno.Addr } };
type Serve = (request: Request, info?: { remoteAddr: Deno.Addr }) => Response | Promise<Response>;

/** A handler that answers an authenticated request by itself, by an upgrade; it throws faults. */
export interface Upgrade {
  readonly path: string;
  readonly handle: (
    app: App,
    actor: Actor,
    request: Request,
    info: RequestInfo,
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
}

/** A protocol of its own over HTTP: it knows its callers or does not, and throws faults. */
export interface Service {
  readonly path: `/${string}`;
  readonly methods: readonly Method[];
  /** What a call by a known caller counts against; others count against their address. */
  readonly take: (app: App, actor: Actor) => LimitState | Promise<LimitState>;
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
    hono.get(path, (c) =>
      guarded(app, c, path, async (info) => {
        const { headers } = c.req.raw;
        const actor = await identify(app, headers, info, () => {});
        parse(NO_QUERY, c.req.query(), "query");
        return await handle(app, actor, c.req.raw, info);
      }));
  }
  for (const service of services) {
    const { path, methods } = service;
    for (const method of methods) hono.on(method, path, (c) => visit(app, service, c));
    hono.all(path, (c) => refuse(app, c, path, notAllowed(methods)));
  }
  for (const route of ordered) {
    hono.on(route.method, pattern(route.path), (c) => serve(app, route, c));
  }
  for (const path of new Set(ordered.map((route) => route.path))) {
    const allow = routes.filter((route) => route.path === path).map((route) => route.method);
    hono.all(pattern(path), (c) => refuse(app, c, path, notAllowed(allow)));
  }
  hono.notFound((c) => refuse(app, c, "unknown", new Fault("NOT_FOUND")));
  return (request, info) => hono.fetch(request, info ?? {});
}

const pattern = (path: string) => path.replaceAll(/\{(\w+)\}/g, ":$1");

/** Names before parameters: `/webhooks/event-types` is not a webhook's id. */
function byRank({ path: a }: Route, { path: b }: Route): number {
  const [first, second] = [rank(a), rank(b)];
  return first < second ? -1 : first > second ? 1 : 0;
}

/** Sorts as the path does, with its parameters behind every name: `~` is the last character of ASCII. */
const rank = (path: string) => path.replaceAll(/\{\w+\}/g, "~");

const notAllowed = (allow: readonly string[]) =>
  new Fault("METHOD_NOT_ALLOWED", `This path takes ${allow.join(", ")}.`, { allow });

/** Admits, limits, calls and answers. */
async function serve(app: App, route: Route, c: Context<Env>): Promise<Response> {
  const startedMs = performance.now();
  const request = infoOf(app, c);
  let limit = app.limiter.unlimited();
  let actor: Actor = ANONYMOUS;
  let response: Response;
  try {
    if (c.req.method === "HEAD" && route.effect !== "read") throw notAllowed([route.method]);
    const { headers } = c.req.raw;
    if (asksWho(route, headers)) {
      actor = await identify(app, headers, request, (state) => limit = state);
      limit = await app.limiter.takeForPlan(actor.tenant.org, actor.plan);
      mustPass(limit, app.ports.clock.now());
      const missing = missingRights(route, actor);
      if (missing !== null) throw await deny(app, route, actor, request, missing);
    } else if (!route.unlimited) {
      limit = await app.limiter.takeForAddress(request.address);
      mustPass(limit, app.ports.clock.now());
    }
    const result = await call(app, route, actor, request, {
      params: c.req.param(),
      query: c.req.query(),
      body: () => readJson(c.req.raw, route.bodyBytesMax),
      accept: c.req.header("accept") ?? "*/*",
    });
    response = success(route, { requestId: request.id, limit, noStore: route.noStore }, result);
  } catch (error) {
    const envelope = { requestId: request.id, limit, noStore: route.noStore };
    response = fail(app, error, envelope, route.id);
  }
  app.metrics.request(route.id, response.status, performance.now() - startedMs);
  return response;
}

function success(route: Route, envelope: Envelope, result: unknown): Response {
  if (result instanceof Accepted) return json(envelope, 202, result.value);
  const { success } = route;
  if ("content" in success) return content(envelope, result as Content);
  if ("body" in success) return json(envelope, success.status, result);
  return new Response(null, { status: success.status, headers: headersOf(envelope) });
}

function asksWho({ access }: Route, headers: Headers): boolean {
  if (!("public" in access)) return true;
  return access.credential === "optional" && hasCredential(headers);
}

const hasCredential = (headers: Headers) =>
  headers.has("authorization") || headers.has("x-api-key");

/** Who is asking; a failure to say so counts against the address. */
async function identify(
  app: App,
  headers: Headers,
  request: RequestInfo,
  limited: (state: LimitState) => void,
): Promise<Actor> {
  try {
    return await authenticate(app, credentialOf(headers), spaceOf(headers));
  } catch (error) {
    const limit = await app.limiter.takeForAddress(request.address);
    limited(limit);
    mustPass(limit, app.ports.clock.now());
    throw error;
  }
}

/** A Bearer token or key, or an API key in `x-api-key`. */
function credentialOf(headers: Headers): string | null {
  const authorization = headers.get("authorization");
  if (authorization === null) return headers.get("x-api-key");
  const [scheme, value] = authorization.split(" ", 2);
  if (scheme?.toLowerCase() !== "bearer" || !value) {
    throw new Fault(
      "INVALID_TOKEN",
      "The Authorization header must be `Bearer <JWT or API key>`.",
      { reason: "malformed" },
    );
  }
  return value;
}

/** The space that a signed-in user chose. */
function spaceOf(headers: Headers): "live" | "test" {
  const space = headers.get("x-relay-space") ?? "live";
  if (space === "live" || space === "test") return space;
  throw new Fault("VALIDATION_FAILED", "X-Relay-Space must be live or test.", {
    issues: [{ path: "headers.x-relay-space", message: "must be live or test" }],
  });
}

function infoOf(app: App, c: Context<Env>): RequestInfo {
  const headers = c.req.raw.headers;
  return {
    id: app.ports.entropy.uuid(),
    get address() {
      const peer = c.env.remoteAddr;
      const host = peer !== undefined && "hostname" in peer ? peer.hostname : "local";
      return clientAddress(host, headers.get("x-forwarded-for"), app.config().trusted_proxies);
    },
    get idempotencyKey() {
      return headers.get("idempotency-key");
    },
    get prefetch() {
      return headers.get("sec-purpose")?.includes("prefetch") ?? false;
    },
  };
}

/** Admits and limits a request to a service, which answers it. */
async function visit(app: App, service: Service, c: Context<Env>): Promise<Response> {
  const startedMs = performance.now();
  const info = infoOf(app, c);
  const { raw } = c.req;
  let limit = app.limiter.unlimited();
  let response: Response;
  try {
    if (c.req.method === "HEAD") throw notAllowed(service.methods);
    const known = hasCredential(raw.headers);
    const identifyAgain = () =>
      known
        ? authenticate(app, credentialOf(raw.headers), spaceOf(raw.headers))
        : Promise.resolve(ANONYMOUS);
    const actor = known
      ? await identify(app, raw.headers, info, (state) => limit = state)
      : ANONYMOUS;
    limit = await (known ? service.take(app, actor) : app.limiter.takeForAddress(info.address));
    mustPass(limit, app.ports.clock.now());
    parse(NO_QUERY, c.req.query(), "query");
    const envelope = { requestId: info.id, limit };
    response = await service.handle({ app, actor, request: raw, info, envelope, identifyAgain });
  } catch (error) {
    response = fail(app, error, { requestId: info.id, limit }, service.path);
    if (response.status === 401) {
      response.headers.set("www-authenticate", service.challenge(app, raw));
    }
  }
  app.metrics.request(service.path, response.status, performance.now() - startedMs);
  return response;
}

/** Runs a handler outside the route table under the same limits and error shape. */
async function guarded(
  app: App,
  c: Context<Env>,
  id: string,
  handle: (info: RequestInfo) => Promise<Response>,
): Promise<Response> {
  const startedMs = performance.now();
  const request = infoOf(app, c);
  const limit = app.limiter.unlimited();
  let response: Response;
  try {
    response = await handle(request);
  } catch (error) {
    response = fail(app, error, { requestId: request.id, limit }, id);
  }
  app.metrics.request(id, response.status, performance.now() - startedMs);
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
