import { type ApiKeyRecord, apiKeys } from "../../../kv/records/api_key.ts";
import { users } from "../../../kv/records/user.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import type { Actor } from "../../identity/identity.ts";

/**
 * People by id. A credential has an owner and, in `also_of`, everybody else who made it, got its value or gave it
 * rights. Its acts count as acts of all of them.
 */
export type People = readonly string[];

/** Stands for every person. */
const EVERYBODY = "*";
/** The people behind a secret that an unknown person may know. */
export const everybody = (): string[] => [EVERYBODY];
/** A larger group is stored as everybody. */
const PEOPLE_MAX = 16;

/** The people of several groups, each once. */
export function unite(...groups: readonly People[]): string[] {
  const all = [...new Set(groups.flat())];
  return all.length > PEOPLE_MAX || all.includes(EVERYBODY) ? [EVERYBODY] : all;
}

/** A group without one person. */
export const without = (people: People, id: string): string[] =>
  people.filter((each) => each !== id);

/** Whether two groups may have a person in common. */
export const haveInCommon = (some: People, others: People): boolean =>
  [some, others].some((people) => people.includes(EVERYBODY)) ||
  some.some((id) => others.includes(id));

/** Whether everybody of one group is also in the other. */
export const isAmong = (some: People, others: People): boolean =>
  others.includes(EVERYBODY) || some.every((id) => others.includes(id));

/**
 * Everybody who may be acting through the caller's credential. The key, or the person who signed in, is read in
 * the caller's transaction: another instance may have just given somebody the value or the password.
 */
export async function peopleBehind(db: Reader, actor: Actor): Promise<string[]> {
  const { kind, id, tenant, userId, sessionId, grantId, alsoOf = [] } = actor;
  if (sessionId !== null || grantId !== undefined) {
    const user = await db.get(users, { ...tenant, space: "live" }, userId);
    return user === null ? everybody() : unite([userId], user.also_of);
  }
  if (kind !== "api_key") return unite([userId], alsoOf);
  const key = await db.get(apiKeys, tenant, id);
  return key === null ? [EVERYBODY] : unite([userId], holdersOf(key, actor.key?.valueHash));
}

function holdersOf({ hash, also_of, old }: ApiKeyRecord, valueHash: string | undefined): People {
  if (valueHash === hash) return also_of;
  return valueHash === old?.hash ? old?.also_of ?? [] : [EVERYBODY];
}
