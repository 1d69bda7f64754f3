import type { Collection } from "../../../kv/store/collection.ts";
import { apiKeys } from "../../../kv/records/api_key.ts";
import { auditKeys } from "../../../kv/records/audit.ts";
import { backups } from "../../../kv/records/backup.ts";
import { repositories } from "../../../kv/records/gitops.ts";
import { idempotencyRecords } from "../../../kv/records/idempotency.ts";
import { signingKeys } from "../../../kv/records/installation.ts";
import { integrationJobs, integrations, oauthFlows } from "../../../kv/records/integration.ts";
import { secondFactors } from "../../../kv/records/second_factor.ts";
import { mcpGrants, sessions } from "../../../kv/records/user.ts";
import { verdictKeys } from "../../../kv/records/verdict_key.ts";
import { webhooks } from "../../../kv/records/webhook.ts";

type Row = { id: string };

/** Fields of one kind of record that hold sealed texts, each bound to its record's id. */
export interface SealedFields {
  readonly of: Collection<Row>;
  readonly fields: readonly string[];
}

/** Every sealed text that a store may hold: what a rotation must reseal. */
export const SEALED: readonly SealedFields[] = [
  sealedIn(apiKeys, ["sealed"]),
  sealedIn(webhooks, ["sealed_secret", "sealed_headers", "sealed_previous_secret"]),
  sealedIn(backups, ["sealed_key"]),
  sealedIn(repositories, ["sealed_authorization", "sealed_webhook_secret"]),
  sealedIn(signingKeys, ["sealed_private_jwk"]),
  sealedIn(idempotencyRecords, ["sealed"]),
  sealedIn(secondFactors, ["sealed_secret"]),
  sealedIn(sessions, ["sealed_refresh_secret"]),
  sealedIn(mcpGrants, ["sealed_refresh_secret"]),
  sealedIn(integrations, ["sealed_secrets", "sealed_tokens"]),
  sealedIn(integrationJobs, ["sealed_request"]),
  sealedIn(oauthFlows, ["sealed_verifier"]),
  sealedIn(verdictKeys, ["sealed_private_key"]),
  sealedIn(auditKeys, ["sealed_private_key"]),
];

function sealedIn<T extends Row>(
  of: Collection<T>,
  fields: readonly (keyof T & string)[],
): SealedFields {
  return { of: of as unknown as Collection<Row>, fields };
}
