import { HOUR_MS, KEYS } from "../../access/keys/key_fixtures.ts";
import { countsAs, joined, type Key, type KeyValue, type Person } from "./model.ts";
import type { Organization } from "./organization.ts";

const SCOPES = ["agents:write", "approvals:write", "system:read", "system:write"];

/** Scopes that let a key do something here. */
const someScopes = ({ dice }: Organization): string[] => {
  const some = SCOPES.filter(() => dice.chance(0.7));
  return some.length > 0 ? some : ["approvals:write"];
};

export async function makeKey(own: Organization, person: Person): Promise<void> {
  const credential = await own.credential(person);
  if (credential === null) return;
  const { status, body } = await own.world.call("POST", KEYS, {
    as: credential.text,
    body: { name: own.name(), scopes: someScopes(own) },
  });
  if (status !== 201) return;
  own.count("key made");
  const { account } = credential;
  const value: KeyValue = {
    kind: "key",
    text: body.key,
    account,
    knownTo: new Set([person]),
    counts: countsAs(credential),
  };
  const { id, scopes, expires_at } = body;
  own.keys.push({ id, account, scopes, values: [value], endMs: Date.parse(expires_at) });
}

export async function rotateKey(own: Organization, person: Person): Promise<void> {
  const credential = await own.credential(person);
  if (credential === null || own.keys.length === 0) return;
  const key = own.dice.pick(own.keys);
  const hours = own.dice.pick([0, 0, 1]);
  const { status, body } = await own.world.call("POST", `${KEYS}/${key.id}/rotate`, {
    as: credential.text,
    body: { grace_period_hours: hours },
  });
  if (status !== 200) return;
  const counts = joined(new Set([key.account.id]), countsAs(credential));
  const newest: KeyValue = {
    kind: "key",
    text: body.new_key,
    account: key.account,
    knownTo: new Set([person]),
    counts,
  };
  const before = key.values[0]!;
  // The answer shows both values.
  before.counts = joined(before.counts, counts);
  before.knownTo.add(person);
  key.values = hours === 0 ? [newest] : [newest, before];
  own.count(key.account.id === person ? "key rotated by its owner" : "key rotated by another");
}

export async function changeKey(own: Organization, person: Person): Promise<void> {
  const credential = await own.credential(person);
  if (credential === null || own.keys.length === 0) return;
  const key = own.dice.pick(own.keys);
  const scopes = own.dice.chance(0.7) ? someScopes(own) : key.scopes;
  // No key ends during a history.
  const days = own.dice.pick([30, 60, 120, null, null, null]);
  const endMs = days === null ? key.endMs : own.world.clock.nowMs + days * 24 * HOUR_MS;
  const { status } = await own.world.call("PATCH", `${KEYS}/${key.id}`, {
    as: credential.text,
    body: { scopes, expires_at: new Date(endMs).toISOString() },
  });
  if (status !== 200) return;
  const by = key.account.id === person ? "its owner" : "another";
  const isWidened = scopes.some((scope) => !key.scopes.includes(scope));
  if (isWidened) own.count(`key widened by ${by}`);
  if (endMs > key.endMs) own.count(`key made to last longer by ${by}`);
  if (isWidened || endMs > key.endMs) {
    for (const value of key.values) value.counts = joined(value.counts, countsAs(credential));
  }
  [key.scopes, key.endMs] = [scopes, endMs];
}

export async function endKey(own: Organization, person: Person): Promise<void> {
  const credential = await own.credential(person);
  if (credential === null || own.keys.length === 0) return;
  const key = own.dice.pick(own.keys);
  const call = { as: credential.text, body: {} };
  const { status } = await own.world.call("POST", `${KEYS}/${key.id}/revoke`, call);
  if (status === 200) own.keys.splice(own.keys.indexOf(key as Key), 1);
}
