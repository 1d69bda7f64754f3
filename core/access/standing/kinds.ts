import type { Collection } from "../../../kv/store/collection.ts";
import type { CreatedWith } from "../../../kv/records/created_with.ts";
import { repositories, type RepositoryRecord } from "../../../kv/records/gitops.ts";
import { type IngestTokenRecord, ingestTokens } from "../../../kv/records/ingest.ts";
import { type IntegrationRecord, integrations } from "../../../kv/records/integration.ts";
import type { Standing } from "../../../kv/records/standing.ts";
import { type WebhookRecord, webhooks } from "../../../kv/records/webhook.ts";
import { serviceOf } from "../../integrations/catalog.ts";
import { rightsFor } from "../../integrations/topics.ts";
import type { Scope } from "../../work/scopes.ts";
import { isWebhookEvent, WEBHOOK_EVENTS } from "../../events/types/webhook_events.ts";

/** Something that a person sets up and that acts later without them, with their rights of that moment. */
export interface StandingRecord {
  readonly id: string;
  readonly name: string;
  readonly created_by: string;
  readonly created_with: CreatedWith | null;
  readonly standing?: Standing;
}

/** One kind of such things. */
export interface StandingKind<T extends StandingRecord> {
  readonly of: Collection<T>;
  /** Its name in events and notices. */
  readonly resource: "repository" | "webhook" | "integration" | "ingest_token";
  /** The rights that it acts with. */
  readonly needs: (record: T) => readonly Scope[];
}

/** A repository brings policies into force. */
export const REPOSITORY: StandingKind<RepositoryRecord> = {
  of: repositories,
  resource: "repository",
  needs: () => ["policy:write"],
};

/** A webhook reads the events that it delivers. */
export const WEBHOOK: StandingKind<WebhookRecord> = {
  of: webhooks,
  resource: "webhook",
  needs: ({ events }) => [
    ...new Set(events.filter(isWebhookEvent).map((type) => WEBHOOK_EVENTS[type].scope)),
  ],
};

/** What lends its credentials takes the right to install integrations. */
export const LENDS = "system:write";

/** An integration reads what it tells, and may lend its credentials to repositories. */
export const INTEGRATION: StandingKind<IntegrationRecord> = {
  of: integrations,
  resource: "integration",
  needs: (record) => [
    ...rightsFor((record.config.topics ?? []) as readonly string[]),
    ...serviceOf(record).repository === undefined ? [] : [LENDS] as const,
  ],
};

/** An ingest token lets in what comes from outside; that of a chat's bot decides approvals. */
export const INGEST_TOKEN: StandingKind<IngestTokenRecord> = {
  of: ingestTokens,
  resource: "ingest_token",
  needs: ({ purpose }) =>
    purpose === "telegram" ? ["system:write", "approvals:write"] : ["system:write"],
};
