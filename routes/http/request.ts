import type { Context } from "@hono/hono";
import type { App, GitHookHeaders, RequestInfo } from "../../core/work/work.ts";
import { Fault } from "../../core/fault/fault.ts";
import { clientAddress } from "./address.ts";

/** What the server tells of a connection; `head` stands with a HEAD, which is shown as GET. */
export type Env = { Bindings: { remoteAddr?: Deno.Addr; head?: true } };

/** Headers by which proxies, content networks and tunnels show that they passed a request on. */
const FORWARDING =
  /^(forwarded|via|cdn-loop|x-(forwarded|original|envoy|amzn)(-.*)?|(x-)?(real|client|cluster-client)-ip|cf-.*|(true|fastly|fly)-client-ip)$/;

/** The method that was asked for. */
export const methodOf = (c: Context<Env>): string => c.env.head ? "HEAD" : c.req.method;

/** True for a request that says who it is from. */
export const hasCredential = (headers: Headers): boolean =>
  headers.has("authorization") || headers.has("x-api-key");

/** True for a request whose browser shows a cookie with a name that begins so. */
export const hasCookie = (headers: Headers, beginning: string): boolean =>
  headers.get("cookie")?.split(/; */).some((pair) => pair.startsWith(beginning)) ?? false;

/** A Bearer token or key, or an API key in `x-api-key`; empty for a header that is neither. */
export const credentialOf = (headers: Headers): string | null =>
  headers.has("authorization") ? bearerOf(headers) ?? "" : headers.get("x-api-key");

/** What stands behind `Bearer`, whatever it is. */
const bearerOf = (headers: Headers): string | null =>
  /^bearer +(\S+)$/i.exec(headers.get("authorization") ?? "")?.[1] ?? null;

/** The space that a signed-in user chose; a key has one of its own, whatever is chosen. */
export function spaceOf(headers: Headers, credential: string | null): "live" | "test" {
  if (credential?.startsWith("svc_")) return "live";
  const space = headers.get("x-relay-space") ?? "live";
  if (space === "live" || space === "test") return space;
  throw new Fault("VALIDATION_FAILED", "X-Relay-Space must be live or test.", {
    issues: [{ path: "headers.x-relay-space", message: "must be live or test" }],
  });
}

/** Looks up what is asked for only: most requests are answered without it. */
export class HttpRequestInfo implements RequestInfo {
  readonly id: string;

  constructor(private readonly app: App, private readonly c: Context<Env>) {
    this.id = app.ports.entropy.uuid();
  }

  get address(): string {
    const peer = this.c.env.remoteAddr;
    const host = peer !== undefined && "hostname" in peer ? peer.hostname : "local";
    const { trusted_proxies } = this.app.config();
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
    const pairs = this.#header("cookie")?.split(/; */) ?? [];
    return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1) ?? null;
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

/** The same, looked up now: for answers that outlive the request. */
export const copyInfo = (info: RequestInfo): RequestInfo => ({
  id: info.id,
  address: info.address,
  idempotencyKey: info.idempotencyKey,
  lastEventId: info.lastEventId,
  ingestToken: info.ingestToken,
  telegramSecret: info.telegramSecret,
  gitHook: info.gitHook,
  cookie: (name) => info.cookie(name),
  forwarded: info.forwarded,
  prefetch: info.prefetch,
});
