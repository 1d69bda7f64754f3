import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { SCOPE_LIST } from "../../core/identity/scopes.ts";
import { routes } from "../../routes/index.ts";
import { type Random, random } from "../support/random.ts";
import { type Answer, World } from "../support/world.ts";

const STEPS = 120;
/** Every so often an owner of the host switches an account off or on; anybody tries it now and then. */
const TOGGLE_EVERY = 6;
const PASSWORD = "a password of everybody";

/** Somebody who calls: a person, or a key that a person made. */
interface Caller {
  readonly kind: "user" | "key";
  readonly id: string;
  readonly org: string;
  credential: string;
}

/** What an organization calls its own: every text that it writes holds its canary. */
interface Organization {
  readonly id: string;
  readonly canary: string;
  /** Ids of what it has: nothing of them may be seen elsewhere. */
  readonly secrets: Set<string>;
}

/** What a caller may do, and whether it is an owner; null when its credential is not accepted. */
type Standing = { readonly scopes: readonly string[]; readonly owner: boolean } | null;

/** Something that was tried, and whose rights it may hand out. */
interface Deed {
  readonly by: { readonly org: string; readonly standing: Standing };
  readonly answer: Answer;
  /** The account that it would switch off or on. */
  readonly toggles?: { readonly org: string; readonly active: boolean };
}

type Standings = ReadonlyMap<string, Standing>;

/** One random history of several organizations, whose people try what they like. */
class History {
  readonly organizations: Organization[] = [];
  readonly callers: Caller[] = [];
  readonly codes: { readonly code: string; readonly org: string }[] = [];
  /** How often somebody was let, and how often refused: a history without both shows nothing. */
  readonly outcomes = { let: 0, refused: 0, off: 0, on: 0 };
  /** Accounts that are off, with what their people could do when they were switched off. */
  readonly off = new Map<string, Standings>();
  #names = 0;

  constructor(readonly world: World, readonly dice: Random) {}

  async play(): Promise<void> {
    for (let n = 0; n < 3; n++) await this.found();
    for (let step = 0; step < STEPS; step++) {
      if (step === STEPS / 2) await this.found();
      const before = await this.standings();
      const deed = step % TOGGLE_EVERY === 0
        ? await this.switchOne(this.dice.pick(this.#hostOwners(before)), before)
        : await this.act(this.dice.pick(this.callers), before);
      this.hold(step, deed, before, await this.standings());
      await this.pry(this.dice.pick(this.callers));
    }
    const { let: fine, refused, off, on } = this.outcomes;
    ok(fine > 10 && refused > 10 && off > 1 && on > 1, JSON.stringify(this.outcomes));
  }

  /**
   * Nothing changes by a refusal, and nobody gets more than who gave it has, nor in another organization;
   * whoever is switched off with their account comes back as they were.
   */
  hold(step: number, { by, answer, toggles }: Deed, before: Standings, after: Standings): void {
    const what = `step ${step}: ${answer.status} ${answer.text.slice(0, 200)}`;
    const fine = answer.status < 300;
    this.outcomes[fine ? "let" : "refused"]++;
    let earlier: Standings = new Map();
    if (fine && toggles !== undefined) {
      ok(
        by.standing?.scopes.includes("system:write") && by.org === this.organizations[0]!.id,
        what,
      );
      earlier = this.#toggled(toggles, before);
    }
    const owners = new Map<string, number>();
    for (const { id, org } of this.callers) {
      const [was, is] = [earlier.get(id) ?? before.get(id) ?? null, after.get(id) ?? null];
      if (is?.owner) owners.set(org, (owners.get(org) ?? 0) + 1);
      if (this.off.has(org)) eq(is, null, what);
      else if (!fine || org !== by.org) {
        if (before.has(id)) deq(is, was, what);
      } else {
        const gained = (is?.scopes ?? []).filter((scope) => !was?.scopes.includes(scope));
        for (const scope of gained) ok(by.standing?.scopes.includes(scope), `${what}: ${scope}`);
        if (is?.owner && !was?.owner) ok(by.standing?.owner, `${what}: ownership`);
      }
    }
    for (const { id } of this.organizations) {
      ok(this.off.has(id) || (owners.get(id) ?? 0) > 0, `${what}: no owner`);
    }
  }

  /** An account was switched; answers what its people could do when it was switched off. */
  #toggled({ org, active }: { org: string; active: boolean }, before: Standings): Standings {
    const own = this.callers.filter((caller) => caller.org === org).map(({ id }) => id);
    const earlier = this.off.get(org) ?? new Map(own.map((id) => [id, before.get(id) ?? null]));
    if (active === this.off.has(org)) this.outcomes[active ? "on" : "off"]++;
    if (active) this.off.delete(org);
    else this.off.set(org, earlier);
    return earlier;
  }

  #hostOwners(standings: Standings): Caller[] {
    const host = this.organizations[0]!.id;
    return this.callers.filter(({ id, org }) => org === host && standings.get(id)?.owner);
  }

  async standings(): Promise<Map<string, Standing>> {
    const all = await Promise.all(this.callers.map(async (caller) => {
      const { status, body } = await this.ask(caller, "GET", "/api/account/info");
      if (status === 401) return [caller.id, null] as const;
      const owner = caller.kind === "user" && body.user.roles.includes("owner");
      return [caller.id, { scopes: body.scopes, owner }] as const;
    }));
    return new Map(all);
  }

  /** Asks, and looks for what is of others in the answer. */
  async ask(caller: Caller, method: string, path: string, body?: unknown): Promise<Answer> {
    const call = { as: caller.credential, ...(body !== undefined && { body }) };
    const answer = await this.world.call(method, path, call);
    const host = this.organizations[0]!.id;
    for (const { id, canary, secrets } of this.organizations) {
      // The host runs the installation: it sees the accounts of all, and names those that it switched.
      if (id === caller.org || caller.org === host && path.startsWith("/api/admin/")) continue;
      const text = caller.org === host
        ? answer.text.replaceAll(`"name":"${canary}"`, "").replaceAll(id, "")
        : answer.text;
      ok(!text.includes(canary), `${method} ${path} shows ${canary} to ${caller.org}`);
      // What the caller wrote itself may come back in a refusal.
      const asked = path + JSON.stringify(body ?? {});
      for (const secret of secrets) {
        ok(asked.includes(secret) || !text.includes(secret), `${method} ${path}: ${secret}`);
      }
    }
    return answer;
  }

  /** Switches an account on where one is off, else one off. */
  async switchOne(owner: Caller, standings: Standings): Promise<Deed> {
    const active = this.off.size > 0;
    const some = active ? [...this.off.keys()] : this.organizations.slice(1).map(({ id }) => id);
    return await this.toggle(owner, standings, { org: this.dice.pick(some), active });
  }

  /** Somebody switches an account off or on, or tries to. */
  async toggle(
    actor: Caller,
    standings: Standings,
    toggles = { org: this.dice.pick(this.organizations).id, active: this.dice.chance(0.3) },
  ): Promise<Deed> {
    const { org, active } = toggles;
    const path = `/api/admin/accounts/${org}/toggle`;
    const answer = await this.ask(actor, "POST", path, { active });
    const by = { org: actor.org, standing: standings.get(actor.id) ?? null };
    return { by, answer, toggles };
  }

  /** One random thing that the caller tries. */
  async act(actor: Caller, standings: Standings): Promise<Deed> {
    const by = { org: actor.org, standing: standings.get(actor.id) ?? null };
    if (this.dice.chance(0.1)) return await this.toggle(actor, standings);
    const { dice } = this;
    const own = this.organizations.find(({ id }) => id === actor.org)!;
    const name = this.#roleOf(dice.chance(0.7) ? own : dice.pick(this.organizations));
    const people = this.callers.filter(({ kind }) => kind === "user");
    const user = dice.pick(dice.chance(0.7) ? people.filter(({ org }) => org === own.id) : people);
    const act = (method: string, path: string, body?: unknown) =>
      this.ask(actor, method, path, body);
    const role = `/api/v1/roles/${name}`;
    const attempts: (() => Promise<Answer>)[] = [
      () => act("POST", "/api/v1/roles", { name: this.#roleOf(own), permissions: this.#some() }),
      () => act("PUT", role, { permissions: this.#some() }),
      () => act("DELETE", role),
      () => act("POST", `${role}/assign`, { user_id: user.id }),
      () => act("POST", `${role}/assign`, { user_id: user.id }),
      () => act("POST", `${role}/revoke`, { user_id: user.id }),
      () => act("POST", `/api/v1/users/${user.id}/${dice.chance(0.3) ? "de" : ""}activate`),
      () => this.makeKey(actor, own),
      () => this.invite(actor, own, name),
    ];
    return { by, answer: await dice.pick(attempts)() };
  }

  async makeKey(actor: Caller, { id: org, canary, secrets }: Organization): Promise<Answer> {
    const scopes = this.#some().filter((scope) => scope !== "all");
    const body = { name: `${canary} key ${++this.#names}`, scopes };
    const answer = await this.ask(actor, "POST", "/api/v1/api-keys", body);
    if (answer.status !== 201) return answer;
    secrets.add(answer.body.id);
    const { id, key: credential } = answer.body;
    this.callers.push({ kind: "key", id, org, credential });
    return answer;
  }

  /** Invites, and joins at once: the newcomer gets what the inviter could give. */
  async invite(actor: Caller, own: Organization, role: string): Promise<Answer> {
    const email = `${own.canary}.${++this.#names}@example.com`;
    const body = { email, roles: [role] };
    const answer = await this.ask(actor, "POST", "/api/v1/invitations", body);
    if (answer.status !== 201) return answer;
    own.secrets.add(answer.body.id);
    const { invite_code } = answer.body;
    const joined = await this.world.call("POST", "/api/v1/signup", {
      body: { email, password: PASSWORD, invite_code },
    });
    if (joined.status === 201) {
      eq(joined.body.organization.id, own.id);
      this.callers.push({
        kind: "user",
        id: joined.body.user.id,
        org: own.id,
        credential: joined.body.token,
      });
      own.secrets.add(joined.body.user.id);
    }
    return answer;
  }

  /** Reads everything that can be read, with ids of others: nothing of theirs is in any answer. */
  async pry(caller: Caller): Promise<void> {
    const reads = routes.filter(({ method, access, success }) =>
      method === "GET" && !("public" in access) && "body" in success
    );
    const route = this.dice.pick(reads);
    const theirs = this.dice.pick(this.organizations);
    const ids = [...theirs.secrets, theirs.id, this.#roleOf(theirs)];
    const path = route.path.replaceAll(/\{\w+\}/g, () => encodeURIComponent(this.dice.pick(ids)));
    await this.ask(caller, "GET", path);
  }

  async found(): Promise<void> {
    const canary = `canary${this.organizations.length}x${this.dice.below(1_000_000)}`;
    const body = { email: `${canary}@example.com`, password: PASSWORD, organization: canary };
    const { body: { token, user, organization } } = await this.world.call(
      "POST",
      "/api/v1/signup",
      { body },
    );
    const { id } = organization;
    this.organizations.push({ id, canary, secrets: new Set([id, user.id]) });
    const founder: Caller = { kind: "user", id: user.id, org: id, credential: token };
    this.callers.push(founder);
    const own = this.organizations.at(-1)!;
    const permissions = ["system:read", "system:write", "agents:read"];
    const name = `${canary}-role-0`;
    await this.ask(founder, "POST", "/api/v1/roles", { name, permissions });
    // People who may hand out much, but not all, are those who would gain something.
    for (const role of ["admin", name, name]) await this.invite(founder, own, role);
  }

  #roleOf({ canary }: Organization): string {
    const own = [0, 1, 2].map((n) => `${canary}-role-${n}`);
    return this.dice.pick([...own, "owner", "owner", "admin", "operator", "viewer"]);
  }

  #some(): string[] {
    const chosen = SCOPE_LIST.filter(() => this.dice.chance(0.3)) as string[];
    if (this.dice.chance(0.5)) chosen.push("system:write");
    return this.dice.chance(0.1) ? ["all"] : [...new Set(chosen)];
  }
}

const chosen = crypto.getRandomValues(new Uint16Array(1))[0]!;
for (const seed of [1, 2, chosen]) {
  Deno.test(`rights, seed ${seed}: no history gives anybody a right that no giver had, or a byte of another organization`, async () => {
    await using world = await World.open({ seed });
    await new History(world, random(seed)).play();
  });
}
