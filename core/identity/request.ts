import type { Trace } from "../../kv/store/trace.ts";

/** The headers that name and sign the webhooks of Git hosts; null for a missing one. */
export interface GitHookHeaders {
  readonly event: string | null;
  readonly delivery: string | null;
  /** `sha256=…` of GitHub and Gitea. */
  readonly hubSignature: string | null;
  readonly giteaSignature: string | null;
  readonly gitlabToken: string | null;
  /** Of Standard Webhooks. */
  readonly webhookId: string | null;
  readonly webhookTimestamp: string | null;
  readonly webhookSignature: string | null;
}

/** A request without its input. */
export interface RequestInfo {
  readonly id: string;
  /** The relay's own origin: the configured one, or the one that the request used. */
  readonly origin: string;
  /** Where its spans start; null when it is not traced. */
  readonly trace: Trace | null;
  /** The client's address, according to the trusted proxies. */
  readonly address: string;
  readonly idempotencyKey: string | null;
  /** The Last-Event-ID of a client that resumes a stream. */
  readonly lastEventId: string | null;
  /** The ingest token in a header, which outside senders use instead of a credential. */
  readonly ingestToken: string | null;
  /** The secret header of Telegram. */
  readonly telegramSecret: string | null;
  /** The webhook headers of a Git host. */
  readonly gitHook: GitHookHeaders;
  /** The value of a cookie; null without one. */
  cookie(name: string): string | null;
  /** True for a request with the headers of a proxy. */
  readonly forwarded: boolean;
  /** True for a browser prefetch, which must never run anything. */
  readonly prefetch: boolean;
}

/** A copy of the request's values, for an answer that outlives the request. */
export const copyInfo = (info: RequestInfo): RequestInfo => ({
  id: info.id,
  origin: info.origin,
  trace: info.trace,
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

/** The ids that join answers, log lines and traces of a request. */
export const idsOf = ({ id, trace }: Pick<RequestInfo, "id" | "trace">) =>
  trace === null ? { request_id: id } : { request_id: id, trace_id: trace.traceId };
