import type { Collection, Row, Tenant } from "../../../kv/store/collection.ts";
import { type ApiKeyRecord, apiKeys } from "../../../kv/records/api_key.ts";
import { devices, pairingCodes } from "../../../kv/records/device.ts";
import { repositories } from "../../../kv/records/gitops.ts";
import { ingestTokens } from "../../../kv/records/ingest.ts";
import { integrations } from "../../../kv/records/integration.ts";
import { invitations } from "../../../kv/records/invitation.ts";
import { roles } from "../../../kv/records/role.ts";
import { users } from "../../../kv/records/user.ts";
import { webhooks } from "../../../kv/records/webhook.ts";
import type { Writing } from "../../work/work.ts";
import type { ResourceType } from "../../events/types/resources.ts";
import { deleteDevice } from "../../agents/devices/devices.ts";
import { deletePairingCode } from "../../agents/devices/pair.ts";
import { type DetailsOf, emit, type EventType } from "../../events/events.ts";
import { deleteRepository } from "../../policies/repositories.ts";
import { deleteIngestToken } from "../../commands/ingest/tokens.ts";
import { removeIntegration } from "../../integrations/manage.ts";
import { withdrawInvitation } from "../invitations/invitations.ts";
import { deactivatePerson } from "../people/people.ts";
import { deleteRole } from "../roles/roles.ts";
import type { Scope } from "../../work/scopes.ts";
import { deleteWebhook } from "../../webhooks/webhooks.ts";
import { isUsable } from "./show.ts";

/** A kind of thing that a key may make and that goes on working without it. */
export interface MadeKind {
  readonly type: string;
  readonly of: Collection<Row>;
  /** The index by the credential that made it. */
  readonly index: string;
  /** What ending one takes, as its own route has it; null where being its creator does. */
  readonly right: Scope | null;
  /** True for what can do something at this instant. */
  readonly works: (record: Row, nowMs: number) => boolean;
  /** Ends one of the space that is worked in, with its event. @throws {Fault} */
  readonly end: (work: Writing, id: string) => Promise<unknown>;
}

function kind<T extends Row>(
  type: string,
  of: Collection<T>,
  right: Scope | null,
  end: MadeKind["end"],
  works: (record: T, nowMs: number) => boolean = () => true,
  index = "made_with",
): MadeKind {
  return { type, of, index, right, end, works } as unknown as MadeKind;
}

/** Ends something by its rule and writes the event that its route would write. */
function ended<T extends EventType, R>(
  type: T,
  resource: ResourceType,
  rule: (work: Writing, id: string) => Promise<R>,
  details: (result: R) => DetailsOf<T>,
): MadeKind["end"] {
  return async (work, id) => {
    const result = await rule(work, id);
    const happening = { type, resource: { type: resource, id }, details: details(result) };
    emit(work, work.tx, work.actor.tenant, happening);
  };
}

const usable = (key: ApiKeyRecord, nowMs: number) => isUsable(key, nowMs);

const endKey = ended("api_key_revoked", "api_key", revoke, ({ name }) => ({ name }));

/** Revokes a key of the space that is worked in. */
async function revoke({ app, actor, tx }: Writing, id: string): Promise<ApiKeyRecord> {
  const key = (await tx.get(apiKeys, actor.tenant, id))!;
  tx.afterCommit(() => app.links.closeCredential(id));
  return tx.put(apiKeys, actor.tenant, { ...key, revoked_at_ms: app.ports.clock.now() });
}

/** Keys first, so that what is listed after them grows no more; roles last, when nobody is invited to one. */
export const MADE_KINDS: readonly MadeKind[] = [
  kind("api_key", apiKeys, null, endKey, usable),
  // Whoever rotates a key gets its value.
  kind("api_key", apiKeys, "system:write", endKey, usable, "rotated_with"),
  kind(
    "pairing_code",
    pairingCodes,
    "agents:admin",
    ended("device_code_deleted", "pairing_code", deletePairingCode, () => ({})),
    ({ used_at_ms, expires_at_ms }, nowMs) => used_at_ms === null && nowMs < expires_at_ms,
  ),
  kind(
    "device",
    devices,
    "agents:admin",
    ended("device_deleted", "device", deleteDevice, ({ name }) => ({ name })),
    ({ trust }) => trust !== "revoked",
  ),
  kind(
    "ingest_token",
    ingestTokens,
    "system:write",
    ended("ingest_token_deleted", "ingest_token", deleteIngestToken, ({ name, purpose }) => ({
      name,
      purpose,
    })),
  ),
  kind(
    "webhook",
    webhooks,
    "system:write",
    ended("webhook_deleted", "webhook", deleteWebhook, ({ name, url }) => ({ name, url })),
  ),
  kind("integration", integrations, "system:write", removeIntegration),
  kind(
    "repository",
    repositories,
    "policy:write",
    ended("repository_deleted", "repository", withPolicies, ({ name, url }) => ({ name, url })),
  ),
  kind(
    "invitation",
    invitations,
    "system:write",
    ended("invitation_withdrawn", "invitation", withdrawInvitation, ({ email, roles }) => ({
      email,
      roles,
    })),
    ({ accepted, withdrawn_at_ms, ends_at_ms }, nowMs) =>
      accepted === null && withdrawn_at_ms === null && nowMs < ends_at_ms,
  ),
  kind("user", users, "system:write", deactivatePerson, ({ active }) => active),
  kind(
    "role",
    roles,
    "system:write",
    ended("role_deleted", "role", deleteRole, ({ permissions }) => ({ permissions })),
  ),
];

/** The types of those things, each once. */
export const MADE_TYPES = [...new Set(MADE_KINDS.map(({ type }) => type))];

/** Removes a repository with the policies that it brought. */
function withPolicies(work: Writing, id: string) {
  return deleteRepository(work, id, true);
}

/** Something that a key made and that still works. */
export interface Made {
  readonly kind: MadeKind;
  readonly tenant: Tenant;
  readonly id: string;
}
