import type { Collection, Row, Tenant } from "../../../kv/store/collection.ts";
import { type ApiKeyRecord, apiKeys } from "../../../kv/records/api_key.ts";
import { invitations } from "../../../kv/records/invitation.ts";
import { roles } from "../../../kv/records/role.ts";
import { users } from "../../../kv/records/user.ts";
import type { Writing } from "../../work/work.ts";
import type { Scope } from "../../identity/identity.ts";
import { type DetailsOf, emit, type EventType, type ResourceType } from "../../events/events.ts";
import { withdrawInvitation } from "../invitations/invitations.ts";
import { deactivatePerson } from "../people/people.ts";
import { deleteRole } from "../roles/roles.ts";
import { isUsable } from "./show.ts";

/** A kind of thing that works without the key that made it: how to find those of a key, and how to end one. */
export interface MadeKind {
  readonly of: Collection<Row>;
  /** The index by the credential that made it. */
  readonly index: string;
  /** The right that ending one takes; null where being its creator is enough. */
  readonly right: Scope | null;
  /** True while it can still do something. */
  readonly works: (record: Row, nowMs: number) => boolean;
  /** Ends one of the caller's space, and writes the event. @throws {Fault} */
  readonly end: (work: Writing, id: string) => Promise<unknown>;
}

/** Declares a kind whose records have the type `T`. */
export const madeKind = <T extends Row>(
  kind: {
    readonly of: Collection<T>;
    readonly right: Scope | null;
    readonly end: MadeKind["end"];
    readonly works?: (record: T, nowMs: number) => boolean;
    readonly index?: string;
  },
): MadeKind => ({ index: "made_with", works: () => true, ...kind }) as unknown as MadeKind;

/** Ends something by its rule, and writes the event that its route would write. */
export function endingWith<T extends EventType, R>(
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

/** The kinds of other areas. Each area declares its own, and the composition collects them. */
const OTHER_TYPES = [
  "pairing_code",
  "device",
  "ingest_token",
  "webhook",
  "integration",
  "repository",
] as const;

/** Every type, each once. */
export const MADE_TYPES = ["api_key", ...OTHER_TYPES, "invitation", "user", "role"] as const;
export type MadeType = typeof MADE_TYPES[number];

/** A kind under the name that answers show. */
export interface NamedKind extends MadeKind {
  readonly type: MadeType;
}

/** One kind of each type that another area keeps. */
export type OtherKinds = Readonly<Record<typeof OTHER_TYPES[number], MadeKind>>;

/**
 * Every kind, in the order in which a cascade ends them: keys first, so that nothing new is made meanwhile;
 * roles last, when no invitation names them any more.
 */
export const madeKinds = (others: OtherKinds): readonly NamedKind[] => [
  { type: "api_key", ...KEYS },
  // Whoever rotates a key gets its value.
  { type: "api_key", ...KEYS, right: "system:write", index: "rotated_with" },
  ...OTHER_TYPES.map((type) => ({ type, ...others[type] })),
  { type: "invitation", ...INVITATIONS },
  { type: "user", ...USERS },
  { type: "role", ...ROLES },
];

const KEYS = madeKind({
  of: apiKeys,
  right: null,
  end: endingWith("api_key_revoked", "api_key", revoke, ({ name }) => ({ name })),
  works: isUsable,
});

const INVITATIONS = madeKind({
  of: invitations,
  right: "system:write",
  end: endingWith(
    "invitation_withdrawn",
    "invitation",
    withdrawInvitation,
    ({ email, roles }) => ({ email, roles }),
  ),
  works: ({ accepted, withdrawn_at_ms, ends_at_ms }, nowMs) =>
    accepted === null && withdrawn_at_ms === null && nowMs < ends_at_ms,
});

const USERS = madeKind({
  of: users,
  right: "system:write",
  end: deactivatePerson,
  works: ({ active }) => active,
});

const ROLES = madeKind({
  of: roles,
  right: "system:write",
  end: endingWith("role_deleted", "role", deleteRole, ({ permissions }) => ({ permissions })),
});

/** Revokes a key of the caller's space. */
async function revoke({ ports, signals, actor, tx }: Writing, id: string): Promise<ApiKeyRecord> {
  const key = (await tx.get(apiKeys, actor.tenant, id))!;
  tx.afterCommit(() => signals.credentialEnded.send({ id }));
  return tx.put(apiKeys, actor.tenant, { ...key, revoked_at_ms: ports.clock.now() });
}

/** Something that a key made and that still works. */
export interface Made {
  readonly kind: NamedKind;
  readonly tenant: Tenant;
  readonly id: string;
}
