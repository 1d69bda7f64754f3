import { z } from "zod";
import { collection } from "../store/collection.ts";
import { madeWith, Sealed, StoredCreatedWith } from "./fields.ts";
import { Standing } from "./standing.ts";

export const INTEGRATION_STATUSES = ["active", "pending", "expired"] as const;

/** An OAuth provider's endpoints, in the names of RFC 8414. */
export const OauthProvider = z.strictObject({
  issuer: z.string(),
  authorization_endpoint: z.string(),
  token_endpoint: z.string(),
  revocation_endpoint: z.string().exactOptional(),
  /** True when each redirect names the issuer (RFC 9207). */
  id_token_signing_alg_values_supported: z.array(z.string()),
  authorization_response_iss_parameter_supported: z.boolean().exactOptional(),
});
export type OauthProvider = z.infer<typeof OauthProvider>;

/** An integration that an organization installed, in its live space. */
export const IntegrationRecord = z.strictObject({
  id: z.string(),
  type: z.string(),
  name: z.string(),
  /** The configuration without its secrets. */
  config: z.record(z.string(), z.unknown()),
  /** The secret fields of the configuration, as JSON. */
  sealed_secrets: Sealed,
  /** `pending` until its OAuth flow is done, `expired` once the provider rejects its tokens. */
  status: z.enum(INTEGRATION_STATUSES),
  /** The tokens of its OAuth flow, as JSON. */
  sealed_tokens: Sealed.nullable(),
  token_ends_at_ms: z.number().nullable(),
  /** When the tokens are refreshed, expire without refresh, or the lease on their refresh ends; null for never. */
  refresh_at_ms: z.number().nullable(),
  /** Refreshes begun since the last success. It identifies the holder of the lease. */
  refresh_attempt: z.int(),
  /** Counts stored tokens, so that a late answer never replaces newer ones. */
  token_version: z.int(),
  /** Its OAuth provider's metadata, since a flow was begun. */
  provider: OauthProvider.nullable(),
  /** The user whose present rights bound what it receives. */
  created_by: z.string(),
  /** The credential that made it. */
  created_with: StoredCreatedWith,
  standing: Standing,
  created_at_ms: z.number(),
  /** The log's last event before it was installed. It receives later ones. */
  after_seq: z.int().default(0), // absent in integrations of earlier versions
  last_used_at_ms: z.number().nullable(),
  /** The last error, as a sentence; null when the last use succeeded. */
  last_error: z.string().nullable(),
});
export type IntegrationRecord = z.infer<typeof IntegrationRecord>;

export const integrations = collection({
  name: "integrations",
  schema: IntegrationRecord,
  index: { made_with: (integration) => madeWith(integration.created_with) },
  queue: {
    all: () => [],
    refresh: (i) => i.refresh_at_ms === null ? null : [i.refresh_at_ms],
  },
  counted: true,
});

/** A job of an integration: a message to send or a token to revoke. */
export const IntegrationJobRecord = z.strictObject({
  id: z.string(),
  integration_id: z.string(),
  /** The integration's type, because the integration is gone when its tokens are revoked. */
  type: z.string().exactOptional(), // absent in jobs of earlier versions
  /** The event to report; null for a revocation. */
  event: z.string().nullable(),
  /** The event's number in the log, until an attempt fails: a job with one is due at once. */
  seq: z.int().exactOptional(), // absent in revocations and in jobs of earlier versions
  /** The revocation request, as JSON; null for a message, which each attempt composes. */
  sealed_request: Sealed.nullable(),
  /** Attempts begun; counted when the job is claimed. */
  attempt: z.int(),
  status: z.enum(["waiting", "sending", "done", "failed"]),
  error: z.string().nullable(),
  created_at_ms: z.number(),
  /** Its place in the queue, and when a job without `seq` is due; null when it has ended. */
  due_at_ms: z.number().nullable(),
  /** When the lease of the attempt under way ends. */
  leased_until_ms: z.number().exactOptional(),
  expires_at_ms: z.number(),
});
export type IntegrationJobRecord = z.infer<typeof IntegrationJobRecord>;

export const integrationJobs = collection({
  name: "integration_jobs",
  schema: IntegrationJobRecord,
  queue: {
    due: ({ integration_id, due_at_ms, seq }) =>
      due_at_ms === null ? null : [integration_id, due_at_ms, ...(seq === undefined ? [] : [seq])],
  },
  expiresAt: (job) => job.expires_at_ms,
});

/** An OAuth flow in progress. Its callback deletes it. */
export const OauthFlowRecord = z.strictObject({
  id: z.string(),
  integration_id: z.string(),
  user_id: z.string(),
  /** The credential that began it. The cookie stands for it while it is valid. */
  begun_by: z.strictObject({
    kind: z.enum(["user", "api_key"]),
    id: z.string(),
    session_id: z.string().nullable(),
    /** SHA-256 of an API key's value, hex; empty for a session. */
    value_hash: z.string(),
    ends_at_ms: z.number(),
  }),
  /** SHA-256 of the state, hex. */
  state_hash: z.string(),
  /** SHA-256 of the cookie that `begin` set, hex. */
  cookie_hash: z.string(),
  /** The PKCE code verifier. */
  sealed_verifier: Sealed,
  expires_at_ms: z.number(),
});
export type OauthFlowRecord = z.infer<typeof OauthFlowRecord>;

export const oauthFlows = collection({
  name: "oauth_flows",
  schema: OauthFlowRecord,
  lookup: { state: (flow) => [flow.state_hash] },
  index: { integration: (flow) => [flow.integration_id] },
  expiresAt: (flow) => flow.expires_at_ms,
});
