import type { Tenant } from "../../kv/store/collection.ts";
import {
  type IntegrationRecord,
  integrations,
  type OauthFlowRecord,
  oauthFlows,
} from "../../kv/records/integration.ts";
import type { Tx } from "../../kv/store/tx.ts";
import { credentialInHand } from "../access/keys/made_with.ts";
import { mustCover } from "../access/keys/owned.ts";
import type { Actor, App, Work, Writing } from "../work/work.ts";
import { emit } from "../events/events.ts";
import { Fault } from "../fault/fault.ts";
import { listPage, type Paging } from "../../kv/store/paging.ts";
import { iso, isoOrNull } from "../codec/instant.ts";
import { mustBeDialable } from "../ports/outbound/dialable.ts";
import { MASK } from "../codec/seal.ts";
import { adopt } from "../access/standing/adopt.ts";
import { INTEGRATION } from "../access/standing/kinds.ts";
import { showStanding } from "../access/standing/suspension.ts";
import { CATALOG, type IntegrationType, serviceOf } from "./catalog.ts";
import { stageRevocations } from "./revoke.ts";
import { rightsFor } from "./messages.ts";

/** Integrations of one organization, so that an event can be offered to all of them at once. */
export const INTEGRATIONS_MAX = 100;
/** Flows of one integration are at most this many; `begin` sees to that. */
export const FLOWS_MAX = 20;

/** What a caller wants to install. */
export interface Installation {
  readonly type: IntegrationType;
  readonly config: Readonly<Record<string, unknown>>;
  readonly name?: string | undefined;
}

/**
 * Installs an outside system; one that signs in by OAuth is `pending` until its flow is done.
 * @throws {Fault} FORBIDDEN, VALIDATION_FAILED with the path of each fault, INSUFFICIENT_SCOPES, CONFLICT when
 * there are too many
 */
export async function installIntegration(work: Writing, { type, config, name }: Installation) {
  const { app, actor, tx } = work;
  const service = CATALOG[type];
  const read = service.config.safeParse(config);
  if (!read.success) refuse(read.error.issues);
  const whole = read.data as Readonly<Record<string, unknown>>;
  mustLeadOutside(app, whole);
  mustReadTopics(actor, whole);
  await app.log.flush();
  const after_seq = await app.log.head(actor.tenant);
  const existing = await tx.count(integrations, actor.tenant);
  if (existing >= INTEGRATIONS_MAX) {
    throw new Fault("CONFLICT", `There are ${INTEGRATIONS_MAX} integrations. Delete one first.`);
  }
  const id = app.ports.entropy.id("int");
  // Before the commit, because its outcome may stay unknown: an integration that exists must be heard of.
  app.integrations.subscribe(actor.tenant);
  // What lies before the first one of all is told to nobody, and is not read again.
  if (existing === 0) await app.integrations.skip(tx, actor.tenant);
  const secret = (field: string) => (service.secrets as readonly string[]).includes(field);
  const part = (wanted: boolean) =>
    Object.fromEntries(Object.entries(whole).filter(([field]) => secret(field) === wanted));
  const record = tx.insert(integrations, actor.tenant, {
    id,
    type,
    name: name ?? service.name,
    config: part(false),
    sealed_secrets: app.sealer.seal(JSON.stringify(part(true)), id),
    status: (service.oauth?.(whole as never) ?? null) === null ? "active" : "pending",
    sealed_tokens: null,
    token_ends_at_ms: null,
    refresh_at_ms: null,
    refresh_attempt: 0,
    token_version: 0,
    provider: null,
    created_by: actor.userId,
    created_with: await credentialInHand(work),
    created_at_ms: app.ports.clock.now(),
    after_seq,
    last_used_at_ms: null,
    last_error: null,
  });
  return await showIntegration(work, record);
}

/** What is installed, newest first, its secrets masked. */
export async function listIntegrations(work: Work, paging: Paging) {
  const { db, actor } = work;
  const options = { ...paging, reverse: true };
  const { items, pagination } = await listPage(db, integrations, actor.tenant, options);
  const shown = await Promise.all(items.map((record) => showIntegration(work, record)));
  return { integrations: shown, pagination };
}

/** Takes over an integration that is suspended. @throws {Fault} NOT_FOUND, INSUFFICIENT_SCOPES, FORBIDDEN, CONFLICT */
export const adoptIntegration = async (work: Writing, id: string) =>
  await showIntegration(work, await adopt(work, INTEGRATION, id));

/** Removes an integration; what OAuth brought is revoked where the provider can, by a job. */
export async function removeIntegration(work: Writing, id: string) {
  const { app, actor, tx } = work;
  const record = await ownedIntegration(work, id);
  const flows = await openFlows(tx, actor.tenant, id);
  for (const flow of flows) tx.delete(oauthFlows, actor.tenant, flow.id);
  tx.delete(integrations, actor.tenant, id);
  const revocations = stageRevocations(app, tx, actor.tenant, record);
  emit(work, tx, actor.tenant, {
    type: "integration_removed",
    resource: { type: "integration", id },
    details: { name: record.name, type: record.type, revocations },
  });
  return { id, name: record.name };
}

/** The flows of an integration that may still come back; whoever begins one writes the integration too. */
export async function openFlows(
  tx: Tx,
  tenant: Tenant,
  id: string,
): Promise<readonly OauthFlowRecord[]> {
  const ofIt = { index: "integration", prefix: [id], limit: FLOWS_MAX };
  return (await tx.list(oauthFlows, tenant, ofIt)).items;
}

/**
 * Whoever says where messages go could read them.
 * @throws {Fault} INSUFFICIENT_SCOPES
 */
export function mustReadTopics({ rights }: Actor, config: IntegrationRecord["config"]): void {
  const topics = (config.topics ?? []) as readonly string[];
  mustCover(rights, rightsFor(topics), "It would be told what you may not read.");
}

/** An integration of the caller's. @throws {Fault} NOT_FOUND */
export async function ownedIntegration(
  { db, actor }: Pick<Work, "db" | "actor">,
  id: string,
): Promise<IntegrationRecord> {
  const record = await db.get(integrations, actor.tenant, id);
  if (record === null) throw new Fault("NOT_FOUND", "There is no such integration.");
  return record;
}

/** The configuration with its secrets, as its service reads it. */
export function configOf({ sealer }: Pick<App, "sealer">, record: IntegrationRecord): never {
  const secrets = JSON.parse(sealer.open(record.sealed_secrets, record.id));
  return { ...record.config, ...secrets } as never;
}

/** What an integration is at its OAuth provider; null for one that needs no OAuth. */
export const oauthClientOf = (app: Pick<App, "sealer">, record: IntegrationRecord) =>
  serviceOf(record).oauth?.(configOf(app, record)) ?? null;

/** An integration as every answer shows it. */
export async function showIntegration(
  { app, db, actor }: Pick<Work, "app" | "db" | "actor">,
  record: IntegrationRecord,
) {
  const secrets = JSON.parse(app.sealer.open(record.sealed_secrets, record.id)) as object;
  const masked = Object.fromEntries(Object.keys(secrets).map((field) => [field, MASK]));
  return {
    id: record.id,
    type: record.type as IntegrationType,
    name: record.name,
    status: record.status,
    oauth: oauthClientOf(app, record) !== null,
    config: { ...record.config, ...masked },
    ...await showStanding(db, actor.tenant, INTEGRATION, record),
    created_by: record.created_by,
    created_with: record.created_with,
    created_at: iso(record.created_at_ms),
    last_used_at: isoOrNull(record.last_used_at_ms),
    last_error: record.last_error,
    token_expires_at: isoOrNull(record.token_ends_at_ms),
  };
}

/** @throws {Fault} VALIDATION_FAILED for an address that secrets may not go to, by its spelling */
function mustLeadOutside(app: App, config: Readonly<Record<string, unknown>>): void {
  const allowPrivate = app.config().outbound.allow_private_targets;
  for (const [field, value] of Object.entries(config)) {
    if (typeof value !== "string" || !/^https?:/i.test(value)) continue;
    if (!allowPrivate && !/^https:/i.test(value)) {
      refuse([{ path: [field], message: "must begin with https://: secrets go there" }]);
    }
    mustBeDialable(app, value, `body.config.${field}`);
  }
}

function refuse(
  faults: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[],
): never {
  const issues = faults.map(({ path, message }) => ({
    path: ["body", "config", ...path].join("."),
    message,
  }));
  throw new Fault("VALIDATION_FAILED", `${issues[0]!.path}: ${issues[0]!.message}`, { issues });
}
