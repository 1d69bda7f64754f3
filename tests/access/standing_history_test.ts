import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { BUILT_IN_ROLES, type Scope, SCOPE_LIST } from "../../core/identity/scopes.ts";
import { EVENT_RIGHTS } from "../../core/events/streams/rights.ts";
import { routes } from "../../routes/index.ts";
import { requestOf, rpc, tool } from "../mcp/client.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { type Random, random } from "../support/random.ts";
import { type Account, World } from "../support/world.ts";
import { happen } from "../events/stream_fixtures.ts";

const STEPS = 50;
const HOUR_MS = 60 * 60 * 1000;
const CUSTOM = ["keeper", "watcher"];
const ROLES = [...CUSTOM, "admin", "operator", "viewer"];
const KEYS = "/api/v1/api-keys";

/** A person of the organization, but its owner, who does everything and whom nobody touches. */
interface Person extends Account {
  readonly roles: Set<string>;
  active: boolean;
}

interface Key {
  readonly id: string;
  readonly maker: Person;
  scopes: readonly Scope[];
  over: boolean;
  /** Until when the value before the rotation works. */
  oldUntilMs: number;
}

/** Something that is shown with a request. */
interface Credential {
  readonly text: string;
  readonly person: Person;
  /** Null for a session. */
  readonly key: Key | null;
  /** When a value that was rotated away ends, or a session did. */
  untilMs: number;
}

/** Something that stays open. */
interface Open {
  readonly what: string;
  readonly credential: Credential;
  /** What it takes to stay; any of these, or nothing but being accepted. */
  readonly takes: readonly Scope[];
  readonly isOver: () => boolean;
  over: boolean;
}

/** What was made to be used later by somebody else, and works as long as its maker may give it. */
interface Promised {
  readonly credential: Credential;
  readonly needs: readonly Scope[];
  /** Answers whether it worked. */
  readonly use: () => Promise<boolean>;
}

/** Reads which need a right and nothing else. */
const READS = routes.filter(({ method, path, access, success, query, id }) =>
  method === "GET" && "scope" in access && !access.host && "body" in success &&
  !path.includes("{") && (query?.safeParse({}).success ?? true) &&
  id !== "compliance.report" // there is none
);

/** A random history of one organization beside a model of who may do what. */
class History {
  readonly people: Person[] = [];
  readonly keys: Key[] = [];
  readonly credentials: Credential[] = [];
  readonly permissions = new Map<string, readonly Scope[]>(CUSTOM.map((name) => [name, []]));
  readonly hooks = new Map<string, Person>();
  open: Open[] = [];
  promised: Promised[] = [];
  on = true;
  readonly seen = { lost: 0, kept: 0, void: 0, good: 0 };
  #n = 0;

  constructor(
    readonly world: World,
    readonly dice: Random,
    readonly host: Account,
    readonly owner: Account,
  ) {}

  /** What a credential may do now; null when it is not accepted. */
  standing({ person, key, untilMs }: Credential): ReadonlySet<Scope> | null {
    if (!this.on || !person.active || this.world.clock.now() >= untilMs) return null;
    const names = [...person.roles];
    const rights = new Set(
      names.flatMap((name) => BUILT_IN_ROLES[name] ?? this.permissions.get(name) ?? []),
    );
    if (key === null) return rights;
    return key.over ? null : new Set(key.scopes.filter((scope) => rights.has(scope)));
  }

  async act(method: string, path: string, body?: unknown, as = this.owner.token) {
    return await this.world.call(method, path, { as, ...body !== undefined && { body } });
  }

  async did(method: string, path: string, body?: unknown, as = this.owner.token) {
    const answer = await this.act(method, path, body, as);
    ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
    return answer.body;
  }

  async join(): Promise<void> {
    const roles = [this.dice.pick(ROLES), "admin"].slice(0, 1 + this.dice.below(2));
    const account = await this.world.join(this.owner, [...new Set(roles)]);
    const person = { ...account, roles: new Set(roles), active: true };
    this.people.push(person);
    this.credentials.push({ text: account.token, person, key: null, untilMs: Infinity });
    const hook = {
      name: "hook",
      url: `https://hooks.example.com/${person.userId}`,
      secret: "sixteen characters",
      events: ["approval_requested"],
    };
    const made = await this.act("POST", "/api/v1/webhooks", hook, account.token);
    if (made.status === 201) this.hooks.set(hook.url, person);
  }

  /** Some of these, and one at least. */
  #some(from: readonly Scope[]): Scope[] {
    const some = from.filter((scope) => this.dice.chance(scope === "agents:admin" ? 0.8 : 0.5));
    return some.length > 0 ? some : [this.dice.pick(from)];
  }

  /** The acts that change who may do what. */
  async change(): Promise<void> {
    const { dice, world } = this;
    const person = dice.pick(this.people);
    const key = dice.pick(this.keys);
    const name = dice.pick(ROLES);
    const user_id = person.userId;
    const acts: (() => Promise<unknown>)[] = [
      async () => {
        await this.did("POST", `/api/v1/roles/${name}/assign`, { user_id });
        person.roles.add(name);
      },
      async () => {
        await this.did("POST", `/api/v1/roles/${name}/revoke`, { user_id });
        person.roles.delete(name);
      },
      async () => {
        const permissions = this.#some(SCOPE_LIST);
        await this.did("PUT", `/api/v1/roles/${CUSTOM[0]}`, { permissions });
        this.permissions.set(CUSTOM[0]!, permissions);
      },
      async () => {
        await this.did("POST", `/api/v1/users/${user_id}/${person.active ? "de" : ""}activate`);
        person.active = !person.active;
        for (const one of this.credentials) if (one.person === person && !one.key) one.untilMs = 0;
      },
      async () => {
        await this.signIn(person);
      },
      async () => {
        if (key.over) return;
        const how = dice.pick(["revoke", "delete"]);
        if (how === "revoke") await this.did("POST", `${KEYS}/${key.id}/revoke`);
        else await this.did("DELETE", `${KEYS}/${key.id}`);
        key.over = true;
      },
      async () => {
        const rights = this.standing({ text: "", person: key.maker, key: null, untilMs: Infinity });
        if (key.over || rights === null || rights.size === 0) return;
        const scopes = this.#some([...rights]);
        await this.did("PATCH", `${KEYS}/${key.id}`, { scopes });
        key.scopes = scopes;
      },
      () => this.rotate(key, dice.below(2)),
      () => this.makeKey(person),
      async () => {
        if (this.on && dice.chance(0.5)) return;
        this.on = !this.on;
        const path = `/api/admin/accounts/${this.owner.org}/toggle`;
        await this.did("POST", path, { active: this.on }, this.host.token);
      },
    ];
    // With the account off nothing but switching it on is answered.
    await (this.on ? dice.pick(acts) : acts.at(-1)!)();
    await world.advance(1_000);
  }

  async signIn(person: Person): Promise<void> {
    const body = { email: person.email, password: "password 2" };
    const answer = await this.world.call("POST", "/api/v1/login", { body });
    eq(answer.status, person.active ? 200 : 401);
    if (person.active) {
      this.credentials.push({ text: answer.body.token, person, key: null, untilMs: Infinity });
    }
  }

  async makeKey(person: Person): Promise<void> {
    const session = this.credentials.findLast((one) => one.person === person && one.key === null)!;
    const rights = this.standing(session);
    const scopes = this.#some(SCOPE_LIST);
    const answer = await this.act("POST", KEYS, { name: "key", scopes }, session.text);
    const may = rights?.has("system:write") && scopes.every((scope) => rights.has(scope));
    eq(answer.status, may ? 201 : rights === null ? 401 : 403, answer.text);
    if (!may) return;
    const key: Key = { id: answer.body.id, maker: person, scopes, over: false, oldUntilMs: 0 };
    this.keys.push(key);
    this.credentials.push({ text: answer.body.key, person, key, untilMs: Infinity });
  }

  async rotate(key: Key, hours: number): Promise<void> {
    const rotating = this.world.clock.now() < key.oldUntilMs;
    const body = { grace_period_hours: hours };
    const answer = await this.act("POST", `${KEYS}/${key.id}/rotate`, body);
    const there = answer.status !== 404;
    eq(answer.status, key.over ? there ? 409 : 404 : rotating ? 409 : 200, answer.text);
    if (answer.status !== 200) return;
    key.oldUntilMs = this.world.clock.now() + hours * HOUR_MS;
    for (const one of this.credentials) {
      if (one.key === key) one.untilMs = Math.min(one.untilMs, key.oldUntilMs);
    }
    const text = answer.body.new_key;
    this.credentials.push({ text, person: key.maker, key, untilMs: Infinity });
  }

  /** Opens something with a credential, which is refused or not as the model has it. */
  async begin(credential: Credential): Promise<void> {
    const { world } = this;
    const rights = this.standing(credential);
    const { text: as, key } = credential;
    const streams = rights !== null && EVENT_RIGHTS.some((right) => rights.has(right));
    const events = await world.raw("GET", "/api/events", { as });
    eq(events.status, streams ? 200 : rights === null ? 401 : 403);
    if (streams) this.#keep("stream", credential, EVENT_RIGHTS, events);
    else await events.body?.cancel();
    const notifications = { toolsListChanged: true };
    const listening = await world.send(
      requestOf("subscriptions/listen", { notifications }, { as, style: "modern" }),
    );
    if (rights === null) eq(listening.status, 401);
    // One caller has so many of them.
    if (listening.status === 200) this.#keep("listener", credential, [], listening);
    else await listening.body?.cancel();
    if (rights === null || key === null || !rights.has("agents:admin")) return;
    const agent = await ScriptedAgent.connect(world, as);
    eq(agent.closed, null);
    const isOver = () => agent.closed !== null;
    this.open.push({ what: "link", credential, takes: ["agents:admin"], isOver, over: false });
  }

  #keep(what: string, credential: Credential, takes: readonly Scope[], response: Response): void {
    let done = false;
    const reader = response.body!.getReader();
    (async () => {
      while (!(await reader.read()).done);
      done = true;
    })();
    this.open.push({ what, credential, takes, isOver: () => done, over: false });
  }

  /** Makes something that somebody else uses later. */
  async promise(credential: Credential): Promise<void> {
    const rights = this.standing(credential);
    if (rights === null || credential.untilMs < Infinity) return;
    const { text: as } = credential;
    if (rights.has("agents:admin") && this.dice.chance(0.5)) {
      const made = await this.did("POST", "/api/devices/pairing-codes", {}, as);
      const body = { device_name: "box", pairing_code: made.pairing_code };
      const from = `198.51.100.${++this.#n}`;
      const use = async () =>
        (await this.world.call("POST", "/api/devices/pair", { body, from })).status === 201;
      this.promised.push({ credential, needs: ["agents:admin"], use });
    } else if (rights.has("system:write") && rights.has("agents:read")) {
      await this.did("PUT", `/api/v1/roles/${CUSTOM[1]}`, { permissions: ["agents:read"] });
      this.permissions.set(CUSTOM[1]!, ["agents:read"]);
      const made = await this.did("POST", "/api/v1/invitations", { roles: [CUSTOM[1]] }, as);
      const email = `invited${++this.#n}@example.com`;
      const body = { email, password: "a password", invite_code: made.invite_code };
      const use = async () =>
        (await this.world.call("POST", "/api/v1/signup", { body })).status === 201;
      this.promised.push({ credential, needs: ["system:write", "agents:read"], use });
    }
  }

  /** Holds everything to the model, by real requests. */
  async hold(step: number): Promise<void> {
    const { world, dice } = this;
    for (const credential of this.credentials) {
      const rights = this.standing(credential);
      const { status, body } = await this.act(
        "GET",
        "/api/account/info",
        undefined,
        credential.text,
      );
      const shown = status === 200 ? new Set(body.scopes) : null;
      deq(shown, rights, `step ${step}: ${credential.key?.id ?? credential.person.userId}`);
    }
    for (const one of this.open) {
      const rights = this.standing(one.credential);
      const may = rights !== null &&
        (one.takes.length === 0 || one.takes.some((scope) => rights.has(scope)));
      one.over ||= !may;
      this.seen[one.over ? "lost" : "kept"]++;
      eq(one.isOver(), one.over, `step ${step}: a ${one.what} of ${one.credential.text}`);
    }
    this.open = this.open.filter(({ over }) => !over);
    const credential = dice.pick(this.credentials);
    const rights = this.standing(credential);
    const { text: as } = credential;
    const { path, access } = dice.pick(READS);
    const needed = [(access as { scope: Scope | Scope[] }).scope].flat();
    const may = rights !== null && needed.some((scope) => rights.has(scope));
    const answer = await this.act("GET", path, undefined, as);
    eq(answer.status, may ? 200 : rights === null ? 401 : 403, `step ${step}: ${path}`);
    const called = await tool(world, "list_agents", {}, { as });
    eq(called.status, rights === null ? 401 : rights.has("agents:read") ? 200 : 403);
    const { body } = await rpc(world, "tools/list", {}, { as });
    const names: string[] | undefined = body.result?.tools.map(({ name }: { name: string }) =>
      name
    );
    eq(names?.includes("approve_command"), rights?.has("approvals:write"), `step ${step}: tools`);
  }

  /** An event goes to those webhooks whose makers may read it now, and to no other. */
  async tell(step: number): Promise<void> {
    const { world } = this;
    await world.settle();
    const before = world.network.sent.length;
    await happen(world, this.owner, "approval_requested");
    await world.settle();
    const got = world.network.sent.slice(before).map(({ url }) => url).sort();
    const due = [...this.hooks].filter(([, person]) =>
      this.standing({ text: "", person, key: null, untilMs: Infinity })?.has("approvals:read")
    ).map(([url]) => url).sort();
    deq(got, due, `step ${step}: who is told`);
  }

  /** What was promised is kept as long as who promised it may still give it. */
  async redeem(step: number): Promise<void> {
    const one = this.dice.pick(this.promised);
    this.promised = this.promised.filter((other) => other !== one);
    const { person, key } = one.credential;
    // The session or the value that made it may be over: the person or the key counts.
    const rights = this.standing({ text: "", person, key, untilMs: Infinity });
    const may = rights !== null && one.needs.every((scope) => rights.has(scope));
    this.seen[may ? "good" : "void"]++;
    eq(await one.use(), may, `step ${step}: what ${key?.id ?? person.userId} promised`);
  }

  async play(): Promise<void> {
    for (const name of CUSTOM) {
      await this.did("POST", "/api/v1/roles", { name, permissions: [] });
    }
    for (let n = 0; n < 3; n++) await this.join();
    for (const person of this.people) {
      await this.did("POST", "/api/v1/roles/admin/assign", { user_id: person.userId });
      person.roles.add("admin");
      await this.makeKey(person);
    }
    for (let step = 0; step < STEPS; step++) {
      if (this.on) {
        await this.begin(this.dice.pick(this.credentials));
        await this.promise(this.dice.pick(this.credentials));
      }
      await this.change();
      await this.hold(step);
      if (this.promised.length > 3) await this.redeem(step);
      await this.tell(step);
    }
    // A history without both shows nothing.
    const { lost, kept, void: refused, good } = this.seen;
    ok(lost + refused > 5 && kept + good > 5, JSON.stringify(this.seen));
  }
}

const chosen = crypto.getRandomValues(new Uint16Array(1))[0]!;
for (const seed of [1, 2, chosen]) {
  Deno.test(`standing, seed ${seed}: after every change each credential, stream, link, promise and webhook has exactly the rights of its holder`, async () => {
    await using world = await World.open({ seed });
    const host = await world.signUp();
    const owner = await world.signUp();
    await new History(world, random(seed), host, owner).play();
  });
}
