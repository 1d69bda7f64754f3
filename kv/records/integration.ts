import { z } from "zod";
import { collection } from "../store/collection.ts";
import { madeWith, Sealed, StoredCreatedWith } from "./fields.ts";
import { Standing } from "./standing.ts";

export const INTEGRATION_STATUSES = ["active", "pending", "expired"] as const;

/** Where an OAuth provider takes what, in the names of RFC 8414. */
export const OauthProvider = z.strictObject({
  issuer: z.string(),
  authorization_endpoint: z.string(),
  token_endpoint: z.string(),
  revocation_endpoint: z.string().exactOptional(),
  /** True when each answer to the browser names the issuer, as RFC 9207 has it. */
  id_token_signing_alg_values_supported: z.array(z.string()),
  authorization_response_iss_parameter_supported: z.boolean().exactOptional(),
});
export type OauthProvider = z.infer<typeof OauthProvider>;

/** An outside system that an organization installed. Lives in the live space. */
export const IntegrationRecord = z.strictObject({
  id: z.string(),
  type: z.string(),
  name: z.string(),
  /** The configuration without its secrets. */
  config: z.record(z.string(), z.unknown()),
  /** The secret fields of the configuration, as JSON. */
  sealed_secrets: Sealed,
  /** `pending` until its OAuth flow is done, `expired` when the provider takes the tokens no more. */
  status: z.enum(INTEGRATION_STATUSES),
  /** The tokens that an OAuth flow brought, as JSON. */
  sealed_tokens: Sealed.nullable(),
  token_ends_at_ms: z.number().nullable(),
  /** When the tokens are refreshed, or over where they cannot be, or when the lease of whoever does it ends; null for never. */
  refresh_at_ms: z.number().nullable(),
  /** Refreshes begun since the last one that brought tokens; tells the holder of a lease from another. */
  refresh_attempt: z.int(),
  /** Counts the tokens that were stored, so that a late answer never replaces newer ones. */
  token_version: z.int(),
  /** What is known of its OAuth provider since a flow was begun. */
  provider: OauthProvider.nullable(),
  /** The user whose present rights bound what it is told. */
  created_by: z.string(),
  /** The credential that it was made with. */
  created_with: StoredCreatedWith,
  standing: Standing,
  created_at_ms: z.number(),
  /** The last event of the log before it was installed: it is told of those behind. */
  after_seq: z.int().default(0), // not there in integrations of earlier versions
  last_used_at_ms: z.number().nullable(),
  /** What went wrong last, in a sentence; null when the last use went well. */
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

/** Something that an integration has to do outside: a message to send, or a token to revoke. */
export const IntegrationJobRecord = z.strictObject({
  id: z.string(),
  integration_id: z.string(),
  /** The integration's, which is gone when its tokens are revoked. */
  type: z.string().exactOptional(), // not there in jobs of earlier versions
  /** The event of the log that is told of; null for a revocation. */
  event: z.string().nullable(),
  /** What is sent to revoke a token, as JSON; null for a message, which is written at each attempt. */
  sealed_request: Sealed.nullable(),
  /** Attempts begun, counted at the claim. */
  attempt: z.int(),
  status: z.enum(["waiting", "sending", "done", "failed"]),
  error: z.string().nullable(),
  created_at_ms: z.number(),
  /** When it is due, or when its lease ends; null when it is over. */
  due_at_ms: z.number().nullable(),
  expires_at_ms: z.number(),
});
export type IntegrationJobRecord = z.infer<typeof IntegrationJobRecord>;

export const integrationJobs = collection({
  name: "integration_jobs",
  schema: IntegrationJobRecord,
  queue: { due: (job) => job.due_at_ms === null ? null : [job.integration_id, job.due_at_ms] },
  expiresAt: (job) => job.expires_at_ms,
});

/** An OAuth flow that was begun. Gone once its state came back. */
export const OauthFlowRecord = z.strictObject({
  id: z.string(),
  integration_id: z.string(),
  user_id: z.string(),
  /** The credential that began it: while that is accepted, the cookie stands for it. */
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
  /** SHA-256 of what the cookie of `begin` holds, hex. */
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
