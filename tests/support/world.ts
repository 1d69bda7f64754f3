import { Buffer } from "node:buffer";
import type { Relay } from "../../core/relay.ts";
import { parseConfig } from "../../core/context/config.ts";
import type { AgentPrograms, Log, Ports, StoreBackups } from "../../core/ports/ports.ts";
import { readSettings, type Settings } from "../../core/context/settings.ts";
import { type Running, startRelay } from "../../core/start.ts";
import { users } from "../../kv/records/user.ts";
import { migrate } from "../../kv/maintenance/migrations.ts";
import { Store } from "../../kv/store/store.ts";
import type { Tracing } from "../../kv/store/trace.ts";
import { type Mcp, serveMcp } from "../../mcp/endpoint.ts";
import { mount } from "../../routes/http/mount.ts";
import { routes, upgrades } from "../../routes/index.ts";
import { ManualClock, PausingClock } from "./clock.ts";
import { assertDeclared, assertLedger, assertLogs } from "./guarantees.ts";
import { NO_LIMITS } from "./no_limits.ts";
import { RecordedNetwork } from "./network.ts";
import { type QuietKv, quietKv } from "./quiet_kv.ts";
import { mulberry32 } from "./random.ts";
import { openDenokvStore, openMemoryStore, type SharedStore } from "../cluster/shared_store.ts";

/** An answer, read whole. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // deno-lint-ignore no-explicit-any -- tests look into bodies of every shape
  readonly body: any;
  readonly text: string;
}

/** A person with an organization. */
export interface Account {
  readonly token: string;
  readonly userId: string;
  readonly org: string;
  readonly email: string;
}

interface Call {
  /** A JWT or an API key, sent as Bearer. */
  readonly as?: string | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The address that it comes from. */
  readonly from?: string;
}

interface Options {
  /** The configuration; without limits unless said. */
  readonly config?: Record<string, unknown>;
  readonly settings?: Partial<Settings>;
  /** Environment variables beside those of every world. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The programs that agents are upgraded to; none unless said. */
  readonly programs?: AgentPrograms;
  /** Writes the scheduled backups; none are written unless said. */
  readonly storeBackups?: StoreBackups;
  /** Traces of requests; none unless said. */
  readonly tracing?: Tracing;
  readonly kv?: Deno.Kv;
  /** False when several worlds write to one store. */
  readonly sole?: boolean;
  /** True when the engine's queue is the alarm of retries, as on an embedded store. */
  readonly hasQueue?: boolean;
  /** True when the calls of the store are bounded, as those of a database server are. */
  readonly remote?: boolean;
  readonly seed?: number;
  readonly clock?: ManualClock;
}

/** How many instances a world has, unless its test brings a store: they share it, the clock, the dice and the network. */
const INSTANCES = Number(Deno.env.get("RELAY_TEST_INSTANCES") ?? 1);
/** They share a store in memory, or a denokv server. */
const openSharedStore = Deno.env.get("RELAY_TEST_DENOKV") === undefined
  ? openMemoryStore
  : openDenokvStore;

interface Instance {
  readonly running: Running;
  readonly mcp: Mcp;
  readonly serve: ReturnType<typeof mount>;
}

/**
 * A whole relay in memory: seeded randomness, a clock that is moved by hand, a recorded network. With several
 * instances, each request goes to the next one.
 */
export class World implements AsyncDisposable {
  readonly network = new RecordedNetwork();
  readonly logged: { level: string; message: string; fields: unknown }[] = [];
  #people = 0;
  #requests = 0;
  /** The number in each founder's password. */
  readonly #passwords = new Map<string, number>();

  private constructor(
    readonly kv: Deno.Kv,
    readonly clock: ManualClock,
    private readonly instances: readonly Instance[],
    private readonly watched: QuietKv,
    private readonly store: SharedStore | null,
  ) {}

  static async open(options: Options = {}): Promise<World> {
    const { kv: given, sole, hasQueue = false, remote = false, seed = 1 } = options;
    const count = given === undefined && sole === undefined && !hasQueue ? INSTANCES : 1;
    const store = count === 1 ? null : await openSharedStore();
    const kv = store?.kv ?? given ?? await Deno.openKv(":memory:");
    const clock = options.clock ?? (count === 1 ? new ManualClock() : new PausingClock());
    const network = new RecordedNetwork();
    const logged: World["logged"] = [];
    const watched = quietKv(store?.opened ?? kv);
    const log = recordingLog(logged);
    const entropy = seededEntropy(seed, clock);
    const config = parseConfig(JSON.stringify(options.config ?? NO_LIMITS));
    const secret = options.settings?.secret ?? SETTINGS.secret;
    const env = { ...ENVIRONMENT, ...options.environment };
    const read = readSettings(env, () => "{}", false);
    const settings = { ...read, ...options.settings, config, secret };
    const start = async (): Promise<Instance> => {
      const store = new Store(watched.kv, {
        clock,
        sole: count === 1 && (sole ?? true),
        hasQueue,
        remote,
      });
      await migrate(store);
      const ports: Ports = {
        clock,
        entropy,
        outbound: network,
        log,
        programs: options.programs ?? { find: () => Promise.resolve(null) },
        storeBackups: options.storeBackups ?? { add: () => Promise.resolve() },
        tracing: options.tracing ?? null,
        passwordCost: { algorithm: "argon2id", memoryKib: 8, passes: 1, lanes: 1 },
      };
      const running = await startRelay({ store, close: () => store.close() }, settings, ports);
      const mcp = serveMcp(running.app, routes);
      return { running, mcp, serve: mount(running.app, routes, upgrades, mcp.services) };
    };
    const instances: Instance[] = [];
    for (let n = 0; n < count; n++) instances.push(await start());
    const world = new World(kv, clock, instances, watched, store);
    return Object.assign(world, { network, logged });
  }

  /** The first instance. */
  get running(): Running {
    return this.instances[0]!.running;
  }

  get app(): Relay {
    return this.running.app;
  }

  /** The relays of all instances. */
  get apps(): readonly Relay[] {
    return this.instances.map(({ running }) => running.app);
  }

  /** The Model Context Protocol of the first instance; `close` ends the open streams of all. */
  get mcp(): Mcp {
    const { services } = this.instances[0]!.mcp;
    return { services, close: () => this.instances.forEach(({ mcp }) => mcp.close()) };
  }

  /** Sends a request through the whole server; the answer is read by whoever asks. */
  async send(request: Request, from = "192.0.2.1"): Promise<Response> {
    await this.renewPresence();
    const { serve } = this.instances[this.#requests++ % this.instances.length]!;
    return await serve(request, {
      remoteAddr: { transport: "tcp", hostname: from, port: 1 },
    });
  }

  /**
   * Ends what looks like a freeze to each of several instances after the clock was set forward: until the next
   * renewal, at most 5 s later, they take no links and no commands.
   */
  async renewPresence(): Promise<void> {
    if (this.instances.length === 1) return;
    await Promise.all(this.apps.map(({ presence }) => presence.mayHold || presence.wake()));
  }

  /** Sends a request through the whole server and leaves the answer's body unread. */
  async raw(
    method: string,
    path: string,
    { as, body, headers, from = "192.0.2.1" }: Call = {},
  ): Promise<Response> {
    const init = new Headers(headers);
    if (as !== undefined) init.set("authorization", `Bearer ${as}`);
    const raw = typeof body === "string" || body instanceof Uint8Array;
    if (body !== undefined && !raw) init.set("content-type", "application/json");
    const request = new Request(`http://localhost${path}`, {
      method,
      headers: init,
      ...(body !== undefined && { body: raw ? body as BodyInit : JSON.stringify(body) }),
    });
    return await this.send(request, from);
  }

  /** Sends a request, reads the answer whole and holds it to its declaration. */
  async call(method: string, path: string, call: Call = {}): Promise<Answer> {
    const response = await this.raw(method, path, call);
    const text = await response.text();
    const json = response.headers.get("content-type")?.startsWith("application/json") ?? false;
    const { status, headers: answered } = response;
    const read = json && text !== "" ? JSON.parse(text) : null;
    const answer = { status, headers: answered, text, body: read };
    assertDeclared(method, path, answer);
    return answer;
  }

  /** Signs a person up, with an organization of their own. */
  async signUp(): Promise<Account> {
    const n = ++this.#people;
    const email = `person${n}@example.com`;
    const body = { email, password: `password ${n}`, organization: `Organization ${n}` };
    const answer = await this.call("POST", "/api/v1/signup", { body });
    if (answer.status !== 201) throw new Error(`signup answered ${answer.text}`);
    const { token, user, organization } = answer.body;
    this.#passwords.set(user.id, n);
    return { token, userId: user.id, org: organization.id, email };
  }

  /** Puts another person into an organization, with these roles. */
  async join({ org, userId }: Account, roles: readonly string[]): Promise<Account> {
    const tenant = { org, space: "live" } as const;
    const owner = await this.app.store.get(users, tenant, userId);
    const email = `person${++this.#people}@example.com`;
    const id = this.app.ports.entropy.id("usr");
    await this.app.store.transact((tx) => {
      tx.insert(users, tenant, { ...owner!, id, email, roles: [...roles] });
    });
    // The password is the first person's, whose hash the record was copied with.
    const password = `password ${this.#passwords.get(userId)}`;
    const answer = await this.call("POST", "/api/v1/login", { body: { email, password } });
    if (answer.status !== 200) throw new Error(`login answered ${answer.text}`);
    return { token: answer.body.token, userId: id, org, email };
  }

  /** Makes an API key with these rights. */
  async key(
    account: Account,
    scopes: readonly string[],
    more: Record<string, unknown> = {},
  ): Promise<{ id: string; value: string }> {
    const body = { name: "a key", scopes, ...more };
    const answer = await this.call("POST", "/api/v1/api-keys", { as: account.token, body });
    if (answer.status !== 201) throw new Error(`key creation answered ${answer.text}`);
    return { id: answer.body.id, value: answer.body.key };
  }

  /** Every event type of the newest audit rows but those of looking at them, oldest first. */
  async trail(account: Account): Promise<string[]> {
    const answer = await this.call("GET", "/api/audit?limit=200", { as: account.token });
    const types = (answer.body.events as { event_type: string }[]).map((event) => event.event_type);
    return types.reverse().filter((type) => type !== "audit_read");
  }

  /** Resolves when no operation of the store is under way. */
  quiet(): Promise<void> {
    return this.watched.quiet();
  }

  /** Resolves when all that was started has come to rest at this instant. */
  async settle(): Promise<void> {
    // A message between instances takes rounds of its own, and each commits something.
    const several = this.instances.length > 1;
    for (let round = 0, before = -1; several ? round < 20 : round < 3; round++) {
      if (several && before === this.watched.commits) break;
      before = this.watched.commits;
      await this.quiet();
      for (const app of this.apps) await rest(app);
    }
    await this.quiet();
  }

  /** Lets each of several instances see what the others have counted. */
  async shareCounts(): Promise<void> {
    await this.settle();
    for (const { store, usage, activity, deliveries } of this.apps) {
      if (store.sole) return;
      await usage.flush();
      await activity.flush();
      await deliveries.attempts.flush();
    }
  }

  /** Moves time on, letting everything that falls due on the way come to rest. */
  async advance(ms: number): Promise<void> {
    const endMs = this.clock.nowMs + ms;
    await this.settle();
    while (true) {
      const dueMs = this.clock.nextDueMs;
      if (dueMs === null || dueMs > endMs) break;
      this.clock.advance(dueMs - this.clock.nowMs);
      await this.settle();
    }
    this.clock.advance(endMs - this.clock.nowMs);
    await this.settle();
  }

  /** Ends the relay, after what it wrote has been held to what every relay promises. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.mcp.close();
    await this.settle();
    await assertLogs(this.app);
    await assertLedger(this.app);
    for (const { running } of this.instances) await running.stop();
    await this.store?.close();
  }
}

/** Resolves when all that an instance started has come to rest. */
async function rest(app: Relay): Promise<void> {
  const { store, log, audit, deliveries, integrations, links, syncs, reports, background } = app;
  await background.idle();
  await syncs.idle();
  await background.idle();
  await links.idle();
  await background.idle();
  await store.idle();
  await log.flush();
  await deliveries.idle();
  await audit.idle();
  await reports.idle();
  await integrations.idle();
}

/** The headers of a request by a page of the relay itself. */
export const OWN_PAGE = { origin: "http://localhost", "sec-fetch-site": "same-origin" } as const;

/** What the relay of a world is started with, unless its test says otherwise. */
const ENVIRONMENT = {
  RELAY_PORT: "0",
  RELAY_KV: ":memory:",
  RELAY_SECRET: "a secret for tests, long enough",
};
export const SETTINGS: Settings & { secret: string } = {
  ...readSettings(ENVIRONMENT, () => "", false),
  secret: ENVIRONMENT.RELAY_SECRET,
};

/** Unguessable to nobody: the same seed gives the same ids, keys and nonces. */
export function seededEntropy(seed: number, clock: ManualClock): Ports["entropy"] {
  const unit = mulberry32(seed);
  const bytes = (n: number) => Uint8Array.from({ length: n }, () => Math.floor(unit() * 256));
  const hex = (n: number) => Buffer.from(bytes(n)).toString("hex");
  let ids = 0;
  return {
    unit,
    bytes,
    uuid: () => {
      const h = hex(16);
      return `${h.slice(0, 8)}-${h.slice(8, 12)}-4${h.slice(13, 16)}-a${h.slice(17, 20)}-${
        h.slice(20)
      }`;
    },
    id: (prefix) =>
      `${prefix}_${clock.now().toString(36).padStart(9, "0")}${String(++ids).padStart(6, "0")}${
        hex(6)
      }`,
  };
}

function recordingLog(logged: World["logged"]): Log {
  const at = (level: string) => (message: string, fields: unknown = {}) => {
    logged.push({ level, message, fields });
  };
  return { info: at("info"), warn: at("warn"), error: at("error") };
}
