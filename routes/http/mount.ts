import { Hono } from "@hono/hono";
import { Fault } from "../../core/fault/fault.ts";
import type { Relay } from "../../core/relay.ts";
import type { Route } from "../call/route.ts";
import { allowCrossOrigin, refuseForeignPages } from "./origin.ts";
import { byRank, contestedOf, pattern } from "./paths.ts";
import { notAllowed } from "./refusal.ts";
import { type Env, methodOf } from "./request.ts";
import { serveRefusal } from "./serve_refusal.ts";
import { serveRoute } from "./serve_route.ts";
import { serveService, type Service } from "./serve_service.ts";
import { serveUpgrade, type Upgrade } from "./serve_upgrade.ts";

type Serve = (request: Request, info?: { remoteAddr: Deno.Addr }) => Response | Promise<Response>;

/** Turns declarations into a server. */
export function mount(
  relay: Relay,
  routes: readonly Route[],
  upgrades: readonly Upgrade[],
  services: readonly Service[] = [],
): Serve {
  const hono = new Hono<Env>();
  // A path with one handler is served without composing a chain, so each path has one for all methods.
  for (const upgrade of upgrades) hono.all(upgrade.path, (c) => serveUpgrade(relay, upgrade, c));
  for (const service of services) {
    const takes = new Set<string>(service.methods);
    hono.all(
      service.path,
      (c) =>
        takes.has(methodOf(c))
          ? serveService(relay, service, c)
          : serveRefusal(relay, c, service.path, notAllowed(service.methods)),
    );
  }
  const rest = mountRoutes(relay, routes, hono);
  hono.notFound((c) => rest.fetch(c.req.raw, c.env));
  const answer: Serve = (request, info) =>
    request.method === "HEAD"
      // The framework would drop the body of the response, from which the server takes the length.
      ? hono.fetch(new Request(request.url, { headers: request.headers }), {
        ...(info && { remoteAddr: info.remoteAddr }),
        head: true,
      })
      : hono.fetch(request, info ?? {});
  return refuseForeignPages(relay, allowCrossOrigin(relay, answer));
}

/**
 * Mounts the routes. Returns a second server for all requests that `hono` does not match: those to routes that its
 * fast router cannot hold, with other methods of known paths, and to unknown paths.
 */
function mountRoutes(relay: Relay, routes: readonly Route[], hono: Hono<Env>): Hono<Env> {
  const rest = new Hono<Env>();
  const ordered = [...routes].sort(byRank);
  const contested = contestedOf(ordered);
  for (const route of ordered) {
    const server = contested.has(route) ? rest : hono;
    server.on(route.method, pattern(route.path), (c) => serveRoute(relay, route, c));
  }
  for (const path of new Set(ordered.map((route) => route.path))) {
    const allow = routes.filter((route) => route.path === path).flatMap(methodsOf);
    rest.all(pattern(path), (c) => serveRefusal(relay, c, path, notAllowed(allow)));
  }
  rest.notFound((c) => serveRefusal(relay, c, "unknown", new Fault("NOT_FOUND")));
  return rest;
}

/** The methods that a route answers: HEAD like GET where nothing is changed. */
const methodsOf = ({ method, effect }: Route): string[] =>
  method === "GET" && effect === "read" ? [method, "HEAD"] : [method];
