import { deepStrictEqual as deq, ok, rejects, strictEqual as eq } from "node:assert/strict";
import type { Actor } from "../../core/identity/identity.ts";
import { ANONYMOUS } from "../../core/access/authenticate.ts";
import { NAMES_COUNTED, NAMES_STORED, total } from "../../core/access/usage/day.ts";
import { Usage } from "../../core/access/usage/usage.ts";
import type { Tenant } from "../../kv/store/collection.ts";
import { type ApiKeyRecord, apiKeys } from "../../kv/records/api_key.ts";
import { Store } from "../../kv/store/store.ts";
import { ManualClock } from "../support/clock.ts";
import { committing } from "../support/kv.ts";
import { random } from "../support/random.ts";
import { rawRows } from "../support/raw_rows.ts";

const tenant: Tenant = { org: "org_1", space: "live" };
const DAY_MS = 24 * 60 * 60 * 1000;
const LIST = { method: "GET", path: "/api/v1/agents" };
const SEED = Number(
  Deno.env.get("RELAY_USAGE_SEED") ?? crypto.getRandomValues(new Uint16Array(1))[0],
);

const keyOf = (id: string): ApiKeyRecord => ({
  id,
  name: id,
  description: "",
  hash: `hash of ${id}`,
  sealed: "",
  masked: "",
  type: "live",
  scopes: [],
  metadata: {},
  created_with: null,
  rotated_with: null,
  also_of: [],
  created_by: "usr_1",
  created_at_ms: 0,
  expires_at_ms: Number.MAX_SAFE_INTEGER,
  revoked_at_ms: null,
  expiry_told: false,
  rotated_at_ms: null,
  old: null,
  limits: null,
});

const actorOf = (id: string): Actor => ({ ...ANONYMOUS, kind: "api_key", id, tenant });

/** A process's share of a store: its usage, and the errors that nobody waited for. */
function life(kv: Deno.Kv, clock: ManualClock, name: string, sole = true, max?: Max) {
  const store = new Store(kv, { clock, sole, hasQueue: false });
  const errors: unknown[] = [];
  return { store, errors, usage: new Usage(store, name, (error) => errors.push(error), max) };
}
type Max = { keys: number; names: number };

async function makeKeys(store: Store, ids: readonly string[]): Promise<void> {
  for (const id of ids) await store.transact((tx) => tx.insert(apiKeys, tenant, keyOf(id)));
}

/** What is known of a key, over all of its days. */
async function sumOf(usage: Usage, id: string) {
  const sum = { requests: 0, rateLimited: 0, mcpCalls: 0, agents: new Map<string, number>() };
  for (const { value } of await usage.days(tenant, id, 0, Number.MAX_SAFE_INTEGER)) {
    sum.requests += total(value.requests);
    sum.rateLimited += total(value.rate_limited);
    sum.mcpCalls += total(value.mcp_calls);
    for (const [agent, hours] of value.agents) {
      sum.agents.set(agent, (sum.agents.get(agent) ?? 0) + total(hours));
    }
  }
  return { ...sum, agents: [...sum.agents].sort() };
}

Deno.test(`usage: sums match a model across flushes, restarts, crashes and evictions`, async () => {
  console.log(`usage: RELAY_USAGE_SEED=${SEED}`);
  const dice = random(SEED);
  for (let run = 0; run < 20; run++) {
    using kv = await Deno.openKv(":memory:");
    const clock = new ManualClock();
    const ids = ["key_a", "key_b", "key_c", "key_d"];
    let lives = 0;
    const begin = () => life(kv, clock, `ins_${++lives}`, false, { keys: 2, names: 5 });
    const instances = [begin(), begin(), begin()];
    await makeKeys(instances[0]!.store, ids);
    const counted = ids.map(() => ({ requests: 0, rateLimited: 0, agents: new Map() }));
    /** Of each instance: what it has counted since its last flush. */
    const atRisk: [key: number, agent: string | null, status: number][][] = [[], [], []];
    const land = (n: number) => {
      for (const [key, agent, status] of atRisk[n]!.splice(0)) {
        const sums = counted[key]!;
        if (status === 429) sums.rateLimited++;
        else {
          sums.requests++;
          if (agent !== null) sums.agents.set(agent, (sums.agents.get(agent) ?? 0) + 1);
        }
      }
    };
    for (let act = 0; act < 200; act++) {
      const n = dice.below(3), roll = dice.unit();
      if (roll < 0.85) {
        const key = dice.below(ids.length), status = dice.pick([200, 403, 429, 500]);
        const agent = dice.pick([null, "agt_1", "agt_2", "agt_3"]);
        instances[n]!.usage.request(actorOf(ids[key]!), LIST, agent, status);
        atRisk[n]!.push([key, agent, status]);
      } else if (roll < 0.93) {
        await instances[n]!.usage.flush();
        land(n);
      } else if (roll < 0.95) {
        await instances[n]!.usage.stop();
        land(n);
        instances[n] = begin();
      } else if (roll < 0.97) {
        // A crash: what was not flushed is gone, and nothing else.
        atRisk[n] = [];
        instances[n] = begin();
      } else clock.nowMs += dice.below(DAY_MS);
    }
    for (let n = 0; n < 3; n++) {
      await instances[n]!.usage.flush();
      land(n);
    }
    const reader = begin();
    for (const [at, id] of ids.entries()) {
      const { requests, rateLimited, agents } = counted[at]!;
      const expected = { requests, rateLimited, mcpCalls: 0, agents: [...agents].sort() };
      deq(await sumOf(reader.usage, id), expected, `seed ${SEED}, run ${run}`);
    }
    for (const { errors } of instances) deq(errors, []);
  }
});

Deno.test("usage: a small step back of the clock keeps the hour, and a large correction changes it", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new ManualClock();
  const { store, usage } = life(kv, clock, "ins_1");
  await makeKeys(store, ["key_a"]);
  const countAt = (ms: number) => {
    clock.nowMs = ms;
    usage.request(actorOf("key_a"), LIST, null, 200);
  };
  const noonMs = clock.nowMs + DAY_MS / 2, aheadMs = noonMs + 365 * DAY_MS, hourMs = DAY_MS / 24;
  for (const ms of [noonMs, aheadMs, aheadMs - 1, noonMs - hourMs, noonMs]) countAt(ms);
  await usage.flush();
  const days = await usage.days(tenant, "key_a", 0, Number.MAX_SAFE_INTEGER);
  const counted = days.map(({ dayMs, value }) => [dayMs, value.requests[11], value.requests[12]]);
  const [here, there] = [noonMs - DAY_MS / 2, aheadMs - DAY_MS / 2];
  deq(counted.sort(([a], [b]) => a! - b!), [[here, 0, 1], [here, 1, 1], [there, 0, 2]]);
});

Deno.test("usage: a flush that fails or has an unknown outcome loses nothing and counts nothing twice", async () => {
  using engine = await Deno.openKv(":memory:");
  let mood: "works" | "refuses" | "loses the reply" = "works";
  const kv = committing(engine, async (commit) => {
    if (mood === "refuses") throw new Error("connection reset before the request was sent");
    const result = await commit();
    if (mood === "loses the reply") throw new Error("connection reset before the reply came");
    return result;
  });
  const { store, usage, errors } = life(kv, new ManualClock(), "ins_1");
  await makeKeys(store, ["key_a"]);
  const request = () => usage.request(actorOf("key_a"), LIST, null, 200);
  for (const how of ["refuses", "loses the reply"] as const) {
    request();
    mood = how;
    await rejects(usage.flush());
    eq(usage.unwritten, 1);
  }
  request();
  mood = "works";
  await usage.flush();
  eq(usage.unwritten, 0);
  const other = life(engine, new ManualClock(), "ins_2");
  eq((await sumOf(other.usage, "key_a")).requests, 3);
  deq(errors, []);
});

Deno.test("usage: one commit a second writes all counts of that second", async () => {
  using engine = await Deno.openKv(":memory:");
  let commits = 0;
  const kv = committing(engine, (commit) => {
    commits++;
    return commit();
  });
  const clock = new ManualClock();
  const { store, usage } = life(kv, clock, "ins_1");
  await makeKeys(store, ["key_a", "key_b"]);
  commits = 0;
  for (let n = 0; n < 1_000; n++) {
    usage.request(actorOf(n % 2 === 0 ? "key_a" : "key_b"), LIST, null, 200);
  }
  clock.advance(999);
  await usage.flush();
  eq(commits, 1);
  const reader = life(engine, clock, "ins_2");
  eq((await sumOf(reader.usage, "key_a")).requests, 500);
  clock.advance(60_000);
  await usage.flush();
  eq(commits, 1, "nothing new, nothing written");
});

Deno.test("usage: an overfull row keeps the busiest names and exact totals within the value limit", async () => {
  using kv = await Deno.openKv(":memory:");
  const { store, usage } = life(kv, new ManualClock(), "ins_1");
  await makeKeys(store, ["key_a"]);
  const long = (n: number) => `agt_${n}`.padEnd(128, "x");
  for (let n = 0; n < 3 * NAMES_COUNTED; n++) {
    const endpoint = { method: "DELETE", path: `/${n}`.padEnd(90, "x") };
    const times = n < NAMES_STORED ? 3 : 1;
    for (let time = 0; time < times; time++) {
      usage.request(actorOf("key_a"), endpoint, long(n), 200);
    }
  }
  await usage.flush();
  const reader = life(kv, new ManualClock(), "ins_2");
  const { requests, agents } = await sumOf(reader.usage, "key_a");
  eq(requests, 3 * NAMES_COUNTED + 2 * NAMES_STORED);
  const busiest = Array.from({ length: NAMES_STORED }, (_, n) => [long(n), 3]);
  deq(agents, busiest.sort());
});

Deno.test("usage: a flush trims the keys and names in memory to their limits", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new ManualClock();
  const { store, usage } = life(kv, clock, "ins_1", true, { keys: 3, names: 1_000 });
  const ids = Array.from({ length: 12 }, (_, n) => `key_${n}`);
  await makeKeys(store, ids);
  for (let round = 0; round < 3; round++) {
    for (const id of ids) usage.request(actorOf(id), LIST, null, 200);
    await usage.flush();
  }
  const rows = await rawRows(kv, { ...tenant, kind: "api_key_usage@" });
  // A key that memory forgot twice has a value for each time, and the instant of its last use.
  eq(rows.filter(({ id }) => id === "key_0").length, 4);
  for (const id of ids) eq((await sumOf(usage, id)).requests, 3);
  clock.nowMs += DAY_MS;
  await usage.flush();
  usage.request(actorOf("key_0"), LIST, null, 200);
  ok((await usage.lastUsed(tenant, "key_0"))! === clock.nowMs);
});
