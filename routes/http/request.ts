import type { Context } from "@hono/hono";
import type { Span } from "../../kv/store/trace.ts";
import type { GitHookHeaders, RequestInfo } from "../../core/identity/identity.ts";
import type { Config } from "../../core/context/context.ts";
import { Fault } from "../../core/fault/fault.ts";
import type { Ports } from "../../core/ports/ports.ts";
import { queryFor } from "../call/input.ts";
import { clientAddress } from "./address.ts";
import { cookieOf, type CookieParts, ownOrigin } from "./cookie.ts";
import { SPACE, spaceOffered } from "./protocols.ts";

/** What the server knows of a connection. `head` marks a HEAD, which is routed as a GET. */
export type Env = { Bindings: { remoteAddr?: Deno.Addr; head?: true } };

/** Headers that proxies, content networks and tunnels add to the requests that they forward. */
const FORWARDING =
  /^(forwarded|via|cdn-loop|x-(forwarded|original|envoy|amzn)(-.*)?|(x-)?(real|client|cluster-client)-ip|cf-.*|(true|fastly|fly)-client-ip)$/;

/** The method of the request, HEAD included. */
export const methodOf = (c: Context<Env>): string => c.env.head ? "HEAD" : c.req.method;

/** True for a request with a credential. */
export const hasCredential = (headers: Headers): boolean =>
  headers.has("authorization") || headers.has("x-api-key");

/** The Bearer token or API key of a request; empty when the Authorization header holds neither. */
export const credentialOf = (headers: Headers): string | null =>
  headers.has("authorization") ? bearerOf(headers) ?? "" : headers.get("x-api-key");

/** The text after `Bearer`, unchecked. */
const bearerOf = (headers: Headers): string | null =>
  /^bearer +(\S+)$/i.exec(headers.get("authorization") ?? "")?.[1] ?? null;

/**
 * The space that a signed-in user chose, in a header or, where a browser can set none, by a subprotocol. A key has
 * its own, whatever the header says.
 */
export function spaceOf(headers: Headers, credential: string | null): "live" | "test" {
  if (credential?.startsWith("svc_")) return "live";
  const header = headers.get("x-relay-space");
  const space = header ?? spaceOffered(headers) ?? "live";
  if (space === "live" || space === "test") return space;
  const [name, path] = header === null
    ? [`The subprotocol ${SPACE}…`, "headers.sec-websocket-protocol"]
    : ["X-Relay-Space", "headers.x-relay-space"];
  const issues = [{ path, message: "must be live or test" }];
  throw new Fault("VALIDATION_FAILED", `${name} must be live or test.`, { issues });
}

/** The query of a request outside the route table. @throws {Fault} VALIDATION_FAILED when a name occurs twice */
export function queryOf({ url }: Request): Record<string, string> {
  const values: Record<string, string[]> = Object.create(null);
  for (const [name, value] of new URL(url).searchParams) (values[name] ??= []).push(value);
  return queryFor({}, values);
}

/** The values of a request, each looked up when it is asked for, since most requests need few. */
export class HttpRequestInfo implements RequestInfo {
  readonly id: string;
  readonly trace: Span<"request"> | null;

  constructor(
    private readonly relay: CookieParts & {
      readonly ports: Pick<Ports, "entropy" | "tracing">;
      readonly config: () => Config;
    },
    private readonly c: Context<Env>,
    route: string,
  ) {
    const { entropy, tracing } = relay.ports;
    this.id = entropy.uuid();
    this.trace = tracing === null ? null : tracing.request(methodOf(c), route, this.id);
  }

  get origin(): string {
    return ownOrigin(this.relay, this.c.req.raw).origin;
  }

  get address(): string {
    const peer = this.c.env.remoteAddr;
    const host = peer !== undefined && "hostname" in peer ? peer.hostname : "local";
    const { trusted_proxies } = this.relay.config();
    return clientAddress(host, this.#header("x-forwarded-for"), trusted_proxies);
  }

  get idempotencyKey(): string | null {
    return this.#header("idempotency-key");
  }

  get lastEventId(): string | null {
    return this.#header("last-event-id");
  }

  get ingestToken(): string | null {
    return this.#header("x-ingest-token") ?? bearerOf(this.c.req.raw.headers);
  }

  get telegramSecret(): string | null {
    return this.#header("x-telegram-bot-api-secret-token");
  }

  get gitHook(): GitHookHeaders {
    const of = (...names: string[]) =>
      names.map((name) => this.#header(name)).find((value) => value !== null) ?? null;
    return {
      event: of("x-github-event", "x-gitea-event", "x-gitlab-event"),
      delivery: of("x-github-delivery", "x-gitea-delivery", "x-gitlab-event-uuid"),
      hubSignature: of("x-hub-signature-256"),
      giteaSignature: of("x-gitea-signature"),
      gitlabToken: of("x-gitlab-token"),
      webhookId: of("webhook-id"),
      webhookTimestamp: of("webhook-timestamp"),
      webhookSignature: of("webhook-signature"),
    };
  }

  cookie(name: string): string | null {
    return cookieOf(this.relay, this.c.req.raw, name);
  }

  get forwarded(): boolean {
    return [...this.c.req.raw.headers.keys()].some((name) => FORWARDING.test(name));
  }

  get prefetch(): boolean {
    return this.#header("sec-purpose")?.includes("prefetch") ?? false;
  }

  #header(name: string): string | null {
    return this.c.req.raw.headers.get(name);
  }
}
