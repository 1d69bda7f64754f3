import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { reports } from "../../kv/records/report.ts";
import { makeScheduledReports } from "../../core/host/compliance/schedule.ts";
import { type Account, World } from "../support/world.ts";
import { ask, HOUR_MS, list } from "./compliance_fixtures.ts";

const DAY_MS = 24 * HOUR_MS;
const PATH = "/api/v1/compliance/schedule";

/** Sets a schedule; returns the answer. */
const set = (world: World, { token }: Account, body: unknown) =>
  world.call("PUT", PATH, { as: token, body });

/** Moves the clock on and lets every instance look for due schedules at once. */
async function later(world: World, ms: number, times = 2): Promise<void> {
  world.clock.nowMs += ms;
  await world.renewPresence();
  const looks = Array.from({ length: times }, (_, n) => world.apps[n % world.apps.length]!);
  await Promise.all(looks.map((app) => makeScheduledReports(app, app.reports)));
  await world.settle();
}

/** Type, period and state of all reports, oldest first, as an owner who signs in again sees them. */
async function made(world: World, { email }: Account) {
  const body = { email, password: "password 1" };
  const { token } = (await world.call("POST", "/api/v1/login", { body })).body;
  const { body: listed } = await list(world, token);
  return listed.reports.map((
    { type, period, status, requested_by }: {
      type: string;
      period: { asked: string };
      status: string;
      requested_by: string;
    },
  ) => [type, period.asked, status, requested_by]).toReversed();
}

Deno.test("schedule: each month is reported once, however many instances look, an hour after its end", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const types = ["access-review", "commands"];
  const { status, body } = await set(world, owner, { every: "month", types });
  deq([status, body.next_at, body.types], [200, "2030-02-01T01:00:00.000Z", types]);
  const untilEnd = Date.parse("2030-02-01T00:59:59.999Z") - world.clock.now();
  await later(world, untilEnd);
  deq(await made(world, owner), []);
  await later(world, 1, 4);
  const january = "2030-01-01/2030-01-31";
  const expected = types.map((type) => [type, january, "completed", "relay"]);
  deq(await made(world, owner), expected);
  await later(world, 60_000);
  deq(await made(world, owner), expected);
});

Deno.test("schedule: a relay that was down makes up for each period that it missed", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await set(world, owner, { every: "quarter", types: ["soc2"] });
  await later(world, 280 * DAY_MS, 1);
  for (let n = 0; n < 4; n++) await later(world, 0, 1);
  deq(
    (await made(world, owner)).map(([, period]: string[]) => period),
    ["2030-Q1", "2030-Q2", "2030-Q3"],
  );
});

Deno.test("schedule: its old reports are deleted, those that people requested stay", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await ask(world, owner.token, "pci", "24h");
  await set(world, owner, { every: "month", types: ["soc2"], keep_days: 40 });
  for (let n = 0; n < 4; n++) await later(world, 31 * DAY_MS, 1);
  deq(
    (await made(world, owner)).map(([type, period]: string[]) => [type, period]),
    [["pci", "24h"], ["soc2", "2030-02-01/2030-02-28"], ["soc2", "2030-03-01/2030-03-31"]],
  );
});

Deno.test("schedule: a due time far ahead, set while the clock was wrong, is set anew", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  world.clock.nowMs += 3650 * DAY_MS;
  await world.renewPresence();
  const signedIn = await world.call("POST", "/api/v1/login", {
    body: { email: owner.email, password: "password 1" },
  });
  await set(world, { ...owner, token: signedIn.body.token }, { every: "month", types: ["soc2"] });
  await later(world, -3650 * DAY_MS);
  await later(world, 32 * DAY_MS);
  deq((await made(world, owner)).map(([, period]: string[]) => period), ["2030-01-01/2030-01-31"]);
});

Deno.test("schedule: an ended one makes nothing, and a wrong one is refused", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  for (const body of [{}, { every: "week" }, { every: "month", types: [] }]) {
    eq((await set(world, owner, body)).status, 400);
  }
  await set(world, owner, { every: "month" });
  eq((await set(world, owner, { every: null })).body.next_at, null);
  await later(world, 40 * DAY_MS);
  deq(await made(world, owner), []);
});

Deno.test("schedule: a failing one is logged, stays due and does not stop those of others", async () => {
  await using world = await World.open();
  const owners = [await world.signUp(), await world.signUp(), await world.signUp()];
  for (const owner of owners) await set(world, owner, { every: "month", types: ["soc2"] });
  world.clock.nowMs += 32 * DAY_MS;
  await world.renewPresence();
  const { app } = world;
  let commits = 0;
  const store = new Proxy(app.store, {
    get(target, name) {
      if (name === "transact" && commits++ === 1) {
        return () => Promise.reject(new Error("it cannot be queued"));
      }
      const value = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const { signals, ports } = app;
  await makeScheduledReports({ store, signals, ports }, app.reports);
  await world.settle();
  const counts = async () => {
    const all = owners.map(({ org }) => app.store.count(reports, { org, space: "live" }));
    return (await Promise.all(all)).toSorted();
  };
  deq(await counts(), [0, 1, 1]);
  const logged = world.logged.filter(({ message }) => /scheduled reports were not/.test(message));
  eq(logged.length, 1);
  await later(world, 0);
  deq(await counts(), [1, 1, 1]);
});
