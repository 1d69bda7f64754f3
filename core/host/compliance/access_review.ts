import { DAY_MS } from "../../../kv/store/durations.ts";
import { type Collection, SYSTEM, type Tenant } from "../../../kv/store/collection.ts";
import { everyListed } from "../../../kv/store/iterate.ts";
import { type ApiKeyRecord, apiKeys } from "../../../kv/records/api_key.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { telegramLinks } from "../../../kv/records/telegram.ts";
import { type UserRecord, users } from "../../../kv/records/user.ts";
import { homeOf, isUsable, rightsOf, statusOf } from "../../access/access.ts";
import type { Context } from "../../context/context.ts";
import { iso, isoOrNull } from "../../codec/codec.ts";
import { ACTORS_MAX, type Counted } from "./count.ts";

/** The rotation period that the API documentation recommends for live keys. */
const ROTATE_DAYS = 90;
const PAGE = 500;
/** API keys read. */
const KEYS_READ_MAX = 10_000;
/** Telegram links read. */
const LINKS_READ_MAX = 10_000;

interface Listed<T> {
  readonly total: number;
  readonly listed: readonly T[];
}

/** A user or key with access, its activity in the period, and remarks for a reviewer. */
interface Holder {
  readonly id: string;
  readonly created_at: string;
  /** Rows of the period with this actor; null when there were too many actors to count. */
  readonly rows_in_period: number | null;
  readonly last_row_at: string | null;
  readonly remarks: readonly string[];
}

export interface ReviewedUser extends Holder {
  readonly email: string;
  readonly roles: readonly string[];
  readonly active: boolean;
  /** Links of this user, present or in the period. Rows of Telegram actions have the link as their actor. */
  readonly telegram_links: readonly string[];
}

export interface ReviewedKey extends Holder {
  readonly name: string;
  readonly type: ApiKeyRecord["type"];
  readonly status: string;
  readonly scopes: readonly string[];
  /** The scopes that work now: those that its creator has the rights for. Older reports have none. */
  readonly rights?: readonly string[];
  readonly created_by: string;
  readonly expires_at: string;
  readonly rotated_at: string | null;
  /** Days since its value was created. */
  readonly value_age_days: number;
}

/** Who has access at the time of the report, and why: users by their roles, keys by their scopes and creators. */
export interface Access {
  /** What each role of the listed users and of the keys' creators allows. Older reports have none. */
  readonly roles?: readonly { readonly name: string; readonly rights: readonly string[] }[];
  readonly users: Listed<ReviewedUser>;
  /** Usable keys first, with their number; the others have expired or were revoked. */
  readonly api_keys: Listed<ReviewedKey> & { readonly usable: number };
}

/** Users with their roles and API keys with their scopes, each with its activity in the period. */
export async function accessNow(
  { store, ports }: Pick<Context, "store" | "ports">,
  tenant: Tenant,
  counted: Pick<Counted, "actors" | "links">,
  listedMax: number,
): Promise<Access> {
  const nowMs = ports.clock.now();
  const organization = (await store.get(organizations, SYSTEM, tenant.org))!;
  const people = await first(store, users, tenant, listedMax);
  const usable = (key: ApiKeyRecord) => isUsable(key, nowMs);
  const keys = (await first(store, apiKeys, tenant, KEYS_READ_MAX))
    .sort((a, b) => Number(usable(b)) - Number(usable(a)));
  const linksOf = await telegramLinksOf(store, tenant, counted.links);
  const rightsOfRole = new Map<string, readonly string[]>();
  const rightsBy = async (roles: readonly string[]): Promise<ReadonlySet<string>> => {
    for (const role of roles) {
      if (rightsOfRole.has(role)) continue;
      rightsOfRole.set(role, [...await rightsOf(store, organization, [role])].sort());
    }
    return new Set(roles.flatMap((role) => rightsOfRole.get(role)!));
  };
  const holders = {
    users: {
      total: await store.count(users, tenant),
      listed: await Promise.all(people.map(async (user) => {
        const rights = await rightsBy(user.roles);
        const telegram_links = linksOf.get(user.id) ?? [];
        const did = activityOf(counted, [user.id, ...telegram_links]);
        const changesSystem = rights.has("system:write");
        return reviewUser(user, did, { telegram_links, changesSystem });
      })),
    },
    api_keys: {
      total: await store.count(apiKeys, tenant),
      usable: keys.filter(usable).length,
      listed: await Promise.all(
        keys.slice(0, listedMax).map(async (key) => {
          const creator = await store.get(users, homeOf(tenant.org), key.created_by);
          const orphan = !creator?.active;
          const given = await rightsBy(creator?.active ? creator.roles : []);
          const rights = key.scopes.filter((scope) => given.has(scope));
          return reviewKey(key, activityOf(counted, [key.id]), { nowMs, orphan, rights });
        }),
      ),
    },
  };
  const roles = [...rightsOfRole].map(([name, rights]) => ({ name, rights }))
    .sort((a, b) => a.name < b.name ? -1 : 1);
  return { roles, ...holders };
}

async function first<T extends { id: string }>(
  store: Context["store"],
  of: Collection<T>,
  tenant: Tenant,
  listedMax: number,
): Promise<T[]> {
  const found: T[] = [];
  for await (const record of everyListed(store, of, tenant, { limit: PAGE })) {
    if (found.length === listedMax) break;
    found.push(record);
  }
  return found;
}

/** The Telegram links of each user: present ones, and those deleted in the period. */
async function telegramLinksOf(
  store: Context["store"],
  tenant: Tenant,
  former: ReadonlyMap<string, string>,
): Promise<Map<string, string[]>> {
  const owners = new Map(former);
  for (const { id, user_id } of await first(store, telegramLinks, tenant, LINKS_READ_MAX)) {
    owners.set(id, user_id);
  }
  const links = new Map<string, string[]>();
  for (const [id, owner] of owners) links.set(owner, [...links.get(owner) ?? [], id]);
  return links;
}

/** The activity under these ids; nulls when the counts had no room for one of them. */
function activityOf({ actors }: Pick<Counted, "actors">, ids: readonly string[]) {
  const found = ids.flatMap((id) => actors.get(id) ?? []);
  const isKnown = found.length === ids.length || actors.size < ACTORS_MAX;
  if (!isKnown) return { rows_in_period: null, last_row_at: null };
  return {
    rows_in_period: found.reduce((sum, { rows }) => sum + rows, 0),
    last_row_at: found.map(({ last_at }) => last_at).sort().at(-1) ?? null,
  };
}

type Did = ReturnType<typeof activityOf>;

const CHANGES_SYSTEM = "may change the system";
const UNUSED = "has no row in the log for the period";

function reviewUser(
  user: UserRecord,
  did: Did,
  { telegram_links, changesSystem }: { telegram_links: string[]; changesSystem: boolean },
): ReviewedUser {
  const { id, email, roles, active, created_at_ms } = user;
  const remarks = [
    ...(active && did.rows_in_period === 0 ? [UNUSED] : []),
    ...roles.filter((role) => role === "owner" || role === "admin").map((role) => `is ${role}`),
    ...(active && changesSystem ? [CHANGES_SYSTEM] : []),
    ...(active ? [] : ["is deactivated"]),
  ];
  const created_at = iso(created_at_ms);
  return { id, email, roles, active, telegram_links, created_at, ...did, remarks };
}

function reviewKey(
  key: ApiKeyRecord,
  did: Did,
  { nowMs, orphan, rights }: { nowMs: number; orphan: boolean; rights: readonly string[] },
): ReviewedKey {
  const { id, name, type, scopes, created_by, created_at_ms, expires_at_ms, rotated_at_ms } = key;
  const status = statusOf(key, nowMs);
  const days = (nowMs - (rotated_at_ms ?? created_at_ms)) / DAY_MS;
  const remarks = isUsable(key, nowMs)
    ? [
      ...(did.rows_in_period === 0 ? [UNUSED] : []),
      ...(days > ROTATE_DAYS ? [`its value is older than ${ROTATE_DAYS} days`] : []),
      ...(orphan ? ["its creator is gone or deactivated"] : []),
      ...(!orphan && rights.length < scopes.length
        ? ["its creator lacks the rights for some scopes"]
        : []),
      ...(rights.includes("system:write") ? [CHANGES_SYSTEM] : []),
    ]
    : [`is ${status}`];
  return {
    id,
    name,
    type,
    status,
    scopes,
    rights,
    created_by,
    created_at: iso(created_at_ms),
    expires_at: iso(expires_at_ms),
    rotated_at: isoOrNull(rotated_at_ms),
    value_age_days: Math.floor(days),
    ...did,
    remarks,
  };
}
