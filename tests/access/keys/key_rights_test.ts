import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { SCOPE_LIST } from "../../../core/identity/scopes.ts";
import { SYSTEM } from "../../../kv/store/collection.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { type Random, random } from "../../support/random.ts";
import { type Account, World } from "../../support/world.ts";
import { KEYS, rotate, setUser } from "./key_fixtures.ts";

const READS = SCOPE_LIST.filter((scope) => scope.endsWith(":read"));

/** What a role gives, written out once more: what is checked must not check itself. */
const GIVES: Readonly<Record<string, readonly string[]>> = {
  owner: SCOPE_LIST,
  admin: SCOPE_LIST,
  operator: [
    ...READS.filter((scope) => scope !== "secrets:read"),
    "agents:write",
    "approvals:write",
  ],
  viewer: READS.filter((scope) => scope !== "secrets:read"),
  "no such role": [],
};

/** A key as the model knows it: its values, the newest last. */
interface Key {
  readonly id: string;
  readonly values: string[];
  scopes: readonly string[];
}

/** A person as the model knows them. */
interface Person {
  readonly account: Account;
  readonly host: boolean;
  roles: string[];
  active: boolean;
  organizationActive: boolean;
  readonly keys: Key[];
}

/** What a person may do now. */
function rightsOf({ roles, host, active, organizationActive }: Person): Set<string> {
  if (!active || !organizationActive) return new Set();
  const rights = new Set(roles.flatMap((role) => GIVES[role]!));
  if (host && !roles.includes("owner")) rights.delete("system:write");
  return rights;
}

/** What a credential may do now, in the order of the table; null when it is not accepted. */
async function held(world: World, as: string): Promise<string[] | null> {
  const { status, body } = await world.call("GET", "/api/account/info", { as });
  if (status !== 200) eq(status, 401);
  return status === 200 ? SCOPE_LIST.filter((scope) => body.scopes.includes(scope)) : null;
}

for (const sole of [true, false]) {
  for (let seed = 1; seed <= (sole ? 2 : 2); seed++) {
    const where = sole ? "from memory" : "from the store";
    Deno.test(`api_keys, ${where}, seed ${seed}: no key has a right that its creator has not now`, async () => {
      const dice = random(seed);
      await using world = await World.open({ seed, sole });
      const people: Person[] = [];
      for (const host of [true, false]) {
        const account = await world.signUp();
        const all = { roles: ["owner"], active: true, organizationActive: true };
        people.push({ account, host, ...all, keys: [] });
      }
      let made = 0;
      for (let step = 0; step < 200; step++) {
        const person = dice.pick(people);
        if (await change(world, dice, person)) made++;
        for (const each of people) await assertWithin(world, each, `seed ${seed}, step ${step}`);
        world.clock.nowMs += dice.below(1_000);
      }
      ok(made > 15, `only ${made} changes of keys were allowed`);
    });
  }
}

/** Every value of every key has the rights that it and its creator have now, or none. */
async function assertWithin(world: World, person: Person, where: string): Promise<void> {
  const creator = rightsOf(person);
  for (const { values, scopes } of person.keys) {
    const working = person.active && person.organizationActive;
    const expected = SCOPE_LIST.filter((scope) => scopes.includes(scope) && creator.has(scope));
    for (const value of values) {
      const has = await held(world, value);
      // An old value may have ended; the newest one is there as long as its creator is.
      if (has === null && (value !== values.at(-1) || !working)) continue;
      deq(has, expected, where);
    }
  }
}

/** One thing that gives or takes rights; answers whether somebody was given some by way of a key. */
async function change(world: World, dice: Random, person: Person): Promise<boolean> {
  const { account, keys } = person;
  if (dice.chance(0.25)) {
    await demote(world, dice, person);
    return false;
  }
  // Whoever asks may or may not be allowed to.
  const credentials = [account.token, ...keys.flatMap(({ values }) => values)];
  const as = dice.chance(0.4) ? account.token : dice.pick(credentials);
  const rights = await held(world, as) ?? [];
  const from = dice.chance(0.7) && rights.length > 0 ? rights : SCOPE_LIST;
  const scopes = dice.shuffle(from).slice(0, 1 + dice.below(from.length));
  const key = keys.length === 0 ? null : dice.pick(keys);
  const within = (asked: readonly string[]) =>
    ok(asked.every((scope) => rights.includes(scope)), "beyond the rights of who asked");
  const act = dice.below(3);
  if (act === 0 || key === null) {
    const { status, body } = await world.call("POST", KEYS, { as, body: { name: "k", scopes } });
    if (status !== 201) return false;
    within(scopes);
    keys.push({ id: body.id, values: [body.key], scopes });
  } else if (act === 1) {
    const { status } = await world.call("PATCH", `${KEYS}/${key.id}`, { as, body: { scopes } });
    if (status !== 200) return false;
    within(scopes);
    key.scopes = scopes;
  } else {
    const { status, body } = await rotate(world, key.id, as, dice.pick([0, 1]));
    if (status !== 200) return false;
    within(key.scopes);
    key.values.push(body.new_key);
  }
  return true;
}

/** Edits a person's roles, or switches them or their organization off or on. */
async function demote(world: World, dice: Random, person: Person): Promise<void> {
  const { account } = person;
  const act = dice.below(3);
  if (act === 0) {
    const some = dice.shuffle(Object.keys(GIVES)).slice(0, dice.below(3));
    person.roles = dice.chance(0.6) ? ["owner"] : some;
    await setUser(world, account, { roles: person.roles });
  } else if (act === 1) {
    person.active = dice.chance(0.85);
    await setUser(world, account, { active: person.active });
  } else {
    person.organizationActive = dice.chance(0.85);
    await world.app.store.transact(async (tx) => {
      const record = (await tx.get(organizations, SYSTEM, account.org))!;
      tx.put(organizations, SYSTEM, { ...record, active: person.organizationActive });
    });
  }
}
