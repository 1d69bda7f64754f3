import { adopt, credentialInHand, madeKind, mustCover, showStanding } from "../../access/access.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import {
  type IntegrationRecord,
  integrations,
  oauthFlows,
} from "../../../kv/records/integration.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Work, Writing } from "../../work/work.ts";
import type { Actor } from "../../identity/identity.ts";
import type { Context } from "../../context/context.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { listPage, type Paging } from "../../../kv/store/paging.ts";
import { iso, isoOrNull, MASK } from "../../codec/codec.ts";
import { mustBeDialable } from "../../ports/ports.ts";
import { INTEGRATION } from "./standing.ts";
import { CATALOG, type IntegrationType } from "./catalog.ts";
import { INTEGRATIONS_MAX, oauthClientOf, openFlows, ownedIntegration } from "./record.ts";
import { stageRevocations } from "./revoke.ts";
import { rightsFor } from "./topics.ts";

/** The follower of the log that sends events to integrations. */
interface EventFollower {
  /** Notes that the tenant has an integration. A hint for this process; repeating it does no harm. */
  subscribe(tenant: Tenant): void;
  /** Skips the events that the tenant's log holds now. */
  skip(tx: Tx, tenant: Tenant): Promise<void>;
}

/** The input of an installation. */
export interface Installation {
  readonly type: IntegrationType;
  readonly config: Readonly<Record<string, unknown>>;
  readonly name?: string | undefined;
}

/**
 * Installs an outside system. One with OAuth is `pending` until its flow is complete.
 * @throws {Fault} FORBIDDEN, VALIDATION_FAILED with the path of each fault, INSUFFICIENT_SCOPES, CONFLICT when
 * there are too many
 */
export async function installIntegration(
  work: Writing,
  follower: EventFollower,
  { type, config, name }: Installation,
) {
  const { log, ports, sealer, actor, tx } = work;
  const service = CATALOG[type];
  const read = service.config.safeParse(config);
  if (!read.success) refuse(read.error.issues);
  const whole = read.data as Readonly<Record<string, unknown>>;
  mustLeadOutside(work, whole);
  mustReadTopics(actor, whole);
  await log.flush();
  const after_seq = await log.head(actor.tenant);
  const existing = await tx.count(integrations, actor.tenant);
  if (existing >= INTEGRATIONS_MAX) {
    throw new Fault(
      "CONFLICT",
      `There are already ${INTEGRATIONS_MAX} integrations. Delete one first.`,
    );
  }
  const id = ports.entropy.id("int");
  // Before the commit, whose outcome may remain unknown: an existing integration must get its events.
  follower.subscribe(actor.tenant);
  // Nothing before the first integration is sent, so the log need not be read from its start.
  if (existing === 0) await follower.skip(tx, actor.tenant);
  const secret = (field: string) => (service.secrets as readonly string[]).includes(field);
  const part = (wanted: boolean) =>
    Object.fromEntries(Object.entries(whole).filter(([field]) => secret(field) === wanted));
  const record = tx.insert(integrations, actor.tenant, {
    id,
    type,
    name: name ?? service.name,
    config: part(false),
    sealed_secrets: sealer.seal(JSON.stringify(part(true)), id),
    status: (service.oauth?.(whole as never) ?? null) === null ? "active" : "pending",
    sealed_tokens: null,
    token_ends_at_ms: null,
    refresh_at_ms: null,
    refresh_attempt: 0,
    token_version: 0,
    provider: null,
    created_by: actor.userId,
    created_with: await credentialInHand(work),
    created_at_ms: ports.clock.now(),
    after_seq,
    last_used_at_ms: null,
    last_error: null,
  });
  return await showIntegration(work, record);
}

/** The installed integrations, newest first, with masked secrets. */
export async function listIntegrations(work: Work, paging: Paging) {
  const { db, actor } = work;
  const options = { ...paging, reverse: true };
  const { items, pagination } = await listPage(db, integrations, actor.tenant, options);
  const shown = await Promise.all(items.map((record) => showIntegration(work, record)));
  return { integrations: shown, pagination };
}

/** Makes the caller responsible for a suspended integration. @throws {Fault} NOT_FOUND, INSUFFICIENT_SCOPES, FORBIDDEN, CONFLICT */
export const adoptIntegration = async (work: Writing, id: string) =>
  await showIntegration(work, await adopt(work, INTEGRATION, id));

/** Removes an integration. A job revokes its OAuth tokens where the provider supports it. */
export async function removeIntegration(work: Writing, id: string) {
  const { actor, tx } = work;
  const record = await ownedIntegration(work, id);
  const flows = await openFlows(tx, actor.tenant, id);
  for (const flow of flows) tx.delete(oauthFlows, actor.tenant, flow.id);
  tx.delete(integrations, actor.tenant, id);
  const revocations = stageRevocations(work, tx, actor.tenant, record);
  emit(work, tx, actor.tenant, {
    type: "integration_removed",
    resource: { type: "integration", id },
    details: { name: record.name, type: record.type, revocations },
  });
  return { id, name: record.name };
}

/**
 * Requires the rights for the topics, because whoever configures the destination can read the messages.
 * @throws {Fault} INSUFFICIENT_SCOPES
 */
export function mustReadTopics({ rights }: Actor, config: IntegrationRecord["config"]): void {
  const topics = (config.topics ?? []) as readonly string[];
  mustCover(rights, rightsFor(topics), "It would receive events that you may not read.");
}

/** An integration as responses show it. */
export async function showIntegration(
  { sealer, db, actor }: Pick<Work, "sealer" | "db" | "actor">,
  record: IntegrationRecord,
) {
  const secrets = JSON.parse(sealer.open(record.sealed_secrets, record.id)) as object;
  const masked = Object.fromEntries(Object.keys(secrets).map((field) => [field, MASK]));
  return {
    id: record.id,
    type: record.type as IntegrationType,
    name: record.name,
    status: record.status,
    oauth: oauthClientOf({ sealer }, record) !== null,
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

/** @throws {Fault} VALIDATION_FAILED for a URL that its spelling alone forbids as a destination of secrets */
function mustLeadOutside(
  context: Pick<Context, "config">,
  config: Readonly<Record<string, unknown>>,
): void {
  const allowPrivate = context.config().outbound.allow_private_targets;
  for (const [field, value] of Object.entries(config)) {
    if (typeof value !== "string" || !/^https?:/i.test(value)) continue;
    if (!allowPrivate && !/^https:/i.test(value)) {
      refuse([{ path: [field], message: "must begin with https://, because it receives secrets" }]);
    }
    mustBeDialable(context, value, `body.config.${field}`);
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

/** Integrations, as a cascade from the key that made them ends them. */
export const MADE_INTEGRATIONS = madeKind({
  of: integrations,
  right: "system:write",
  end: removeIntegration,
});
