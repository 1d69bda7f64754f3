import {
  type IntegrationRecord,
  integrations,
  type OauthFlowRecord,
  oauthFlows,
} from "../../../kv/records/integration.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import { Fault } from "../../fault/fault.ts";
import type { Work } from "../../work/work.ts";
import { serviceOf } from "./catalog.ts";

/** Integrations of one organization, few enough to offer an event to all of them at once. */
export const INTEGRATIONS_MAX = 100;
/** Open OAuth flows of one integration. `beginFlow` enforces it. */
export const FLOWS_MAX = 20;

/** An integration of the caller's organization. @throws {Fault} NOT_FOUND */
export async function ownedIntegration(
  { db, actor }: Pick<Work, "db" | "actor">,
  id: string,
): Promise<IntegrationRecord> {
  const record = await db.get(integrations, actor.tenant, id);
  if (record === null) throw new Fault("NOT_FOUND", "There is no such integration.");
  return record;
}

/** The open flows of an integration. Beginning a flow also writes the integration, so the list is complete. */
export async function openFlows(
  tx: Tx,
  tenant: Tenant,
  id: string,
): Promise<readonly OauthFlowRecord[]> {
  const ofIt = { index: "integration", prefix: [id], limit: FLOWS_MAX };
  return (await tx.list(oauthFlows, tenant, ofIt)).items;
}

/** The configuration with its secrets, as its service expects it. */
export function configOf(
  { sealer }: Pick<Work, "sealer">,
  record: IntegrationRecord,
): never {
  const secrets = JSON.parse(sealer.open(record.sealed_secrets, record.id));
  return { ...record.config, ...secrets } as never;
}

/** The integration's OAuth client; null for one without OAuth. */
export const oauthClientOf = (context: Pick<Work, "sealer">, record: IntegrationRecord) =>
  serviceOf(record).oauth?.(configOf(context, record)) ?? null;
