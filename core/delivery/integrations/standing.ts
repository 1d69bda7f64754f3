import { type IntegrationRecord, integrations } from "../../../kv/records/integration.ts";
import type { StandingKind } from "../../access/access.ts";
import { serviceOf } from "./catalog.ts";
import { rightsFor } from "./topics.ts";

/** The right to lend credentials to repositories, which is also the right to install integrations. */
export const LENDING_RIGHT = "system:write";

/** An integration acts with the rights to read its topics, and to lend its credentials to repositories. */
export const INTEGRATION: StandingKind<IntegrationRecord> = {
  of: integrations,
  resource: "integration",
  needs: (record) => [
    ...rightsFor((record.config.topics ?? []) as readonly string[]),
    ...serviceOf(record).repository === undefined ? [] : [LENDING_RIGHT] as const,
  ],
};
