import type { Context } from "@hono/hono";
import type { z } from "zod";
import { ANONYMOUS } from "../../core/access/access.ts";
import type { Relay } from "../../core/relay.ts";
import type { Actor, RequestInfo } from "../../core/identity/identity.ts";
import { parse, parseNoQuery } from "../call/input.ts";
import type { Method } from "../call/route.ts";
import type { Envelope } from "./answer.ts";
import { type Authenticate, identify, identifyAgain } from "./identify.ts";
import { credentialOf, type Env, hasCredential, queryOf } from "./request.ts";
import { RequestState } from "./request_state.ts";
import { whenRead } from "./response_stream.ts";

/** A request to a service. */
export interface Visit {
  readonly relay: Relay;
  readonly actor: Actor;
  readonly request: Request;
  /** The query, checked by the service's schema. */
  readonly query: unknown;
  readonly info: RequestInfo;
  /** What the headers of every response are made of. */
  readonly envelope: Envelope;
  /** Authenticates the caller again, for answers that stay open. @throws {Fault} */
  readonly identifyAgain: () => Promise<Actor>;
  /** Marks the response as a stream, whose connection counts for as long as it is read. */
  readonly keepOpen: () => void;
}

/** A protocol of its own over HTTP, beside the route table. Its callers may be anonymous; it throws faults. */
export interface Service {
  readonly path: `/${string}`;
  readonly methods: readonly Method[];
  /** The limit that a call by a known caller counts against; others count against their address. */
  readonly call: "rest" | "mcp";
  /** Credentials are ignored, invalid ones too: the response is the same for everybody. */
  readonly public?: true;
  /** Authenticates its credentials; as everywhere when absent. */
  readonly authenticate?: Authenticate;
  /** The schema of its query; without one every query is refused. */
  readonly query?: z.ZodObject;
  /** The `WWW-Authenticate` of a 401. */
  readonly challenge: (relay: Relay, request: Request) => string;
  readonly handle: (visit: Visit) => Response | Promise<Response>;
}

/** Admits and limits a request to a service, which answers it. */
export async function serveService(
  relay: Relay,
  service: Service,
  c: Context<Env>,
): Promise<Response> {
  const { path } = service;
  const state = new RequestState(relay, c, path);
  const { raw } = c.req;
  let response: Response;
  try {
    const arrived = { raw, info: state.info, changes: true };
    const known = !service.public && hasCredential(raw.headers);
    if (known) {
      state.actor = await identify(
        relay,
        arrived,
        state.limited,
        credentialOf,
        service.authenticate,
      );
      await state.admit(service.call);
    } else await state.takeForAddress();
    state.mustPass();
    const given = queryOf(raw);
    const query = service.query ? parse(service.query, given, "query") : parseNoQuery(given);
    let isStream = false;
    response = await service.handle({
      relay,
      actor: state.actor,
      request: raw,
      query,
      info: state.info,
      envelope: state.envelope(),
      identifyAgain: async () =>
        known ? await identifyAgain(relay, arrived, service.authenticate) : ANONYMOUS,
      keepOpen: () => isStream = true,
    });
    if (isStream && state.holdsConnection) {
      state.keepForStream();
      response = whenRead(response, state.leave);
    }
  } catch (error) {
    response = state.failed(error, path);
    if (response.status === 401) {
      response.headers.set("www-authenticate", service.challenge(relay, raw));
    }
  } finally {
    state.release();
  }
  state.count(path, response);
  if (response.status === 429 || service.call === "rest") {
    relay.usage.request(state.actor, { method: c.req.method, path }, null, response.status);
  } else relay.usage.mcpCall(state.actor, null);
  return response;
}
