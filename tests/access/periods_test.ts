import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { SERIES_DAYS } from "../../kv/store/series.ts";
import { type Account, World } from "../support/world.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const FOREVER = { expires_days: 3650 };

async function usageOf(world: World, { token: as }: Account, id: string, period: string) {
  await world.shareCounts();
  return await world.call("GET", `/api/v1/api-keys/${id}/usage?period=${period}`, { as });
}

const report = (world: World, { token: as }: Account, period: string) =>
  world.call("POST", "/api/v1/compliance/report/generate", { as, body: { type: "soc2", period } });

/** A relay in which a key was used once at noon of each of these many days, the last of them today. */
async function usedDaily(world: World, days: number) {
  const owner = await world.signUp();
  const reader = { ...owner, token: (await world.key(owner, ["system:read"], FOREVER)).value };
  const { id, value: as } = await world.key(owner, ["agents:read"], FOREVER);
  const beganMs = world.clock.nowMs;
  for (let day = 0; day < days; day++) {
    world.clock.nowMs = beganMs + day * DAY_MS + DAY_MS / 2;
    await world.call("GET", "/api/v1/agents", { as });
  }
  return { reader, id };
}

Deno.test("period: usage and compliance accept and refuse the same forms", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { id } = await world.key(owner, ["agents:read"]);
  const taken = ["24h", "7d", "30d", "90d", "P7D", "PT24H", "P1M", "1w", "2029-Q4", "2030-Q1"];
  taken.push("2029-12-01/2029-12-31", "2029-12-01..2030-01-01", "2029-W50/2030-01");
  taken.push("2029-12-01T00:00:00+00:00/2029-12-31T12:00:00+01:00");
  for (const period of taken) {
    eq((await usageOf(world, owner, id, period)).status, 200, period);
    const { status, body } = await report(world, owner, period);
    deq([status, body.period?.asked], [202, period]);
    await world.settle();
  }
  for (const period of ["", "7", "7D", "1y", "2029-Q5", "2031-Q1", "2030-01-02/2030-01-01", "x"]) {
    const [usage, made] = [
      await usageOf(world, owner, id, period),
      await report(world, owner, period),
    ];
    const issueOf = ({ body }: typeof usage) => body.error.details.issues[0];
    deq([usage.status, issueOf(usage).path], [400, "query.period"], period);
    deq([made.status, issueOf(made).path], [400, "body.period"], period);
    eq(issueOf(usage).message, issueOf(made).message);
  }
});

Deno.test("usage: forms of equal length give the same answer, and from/to covers its days", async () => {
  await using world = await World.open();
  const { reader, id } = await usedDaily(world, 40); // today is 2030-02-09
  const bodyOf = async (period: string) => (await usageOf(world, reader, id, period)).body;
  for (const [one, ...others] of [["7d", "P7D", "1w", "P1W", "168h"], ["24h", "1d", "P1D"]]) {
    for (const other of others) deq(await bodyOf(other), await bodyOf(one!), other);
  }
  const cases: [string, string, string, number, number][] = [
    ["P30D", "2030-01-11", "2030-02-09", 30, 30],
    ["2030-Q1", "2030-01-01", "2030-02-09", 40, 40],
    ["2030-01-10/2030-01-20", "2030-01-10", "2030-01-20", 11, 11],
    ["2030-01-10/2030-01-10", "2030-01-10", "2030-01-10", 24, 1],
    ["2030-01/2030-02", "2030-01-01", "2030-02-09", 40, 40],
    ["2030-01-10T00:00Z/2030-01-11T00:00Z", "2030-01-10", "2030-01-10", 24, 1],
    ["2030-01-10T13:00+01:00/2030-01-10T12:00Z", "2030-01-10", "2030-01-10", 1, 1],
    ["2029-Q4", "2029-10-01", "2029-12-31", 92, 0],
  ];
  for (const [period, from, to, steps, requests] of cases) {
    const usage = await bodyOf(period);
    deq(usage.period, { from, to }, period);
    deq(
      [usage.series.length, usage.total_requests, usage.complete],
      [steps, requests, true],
      period,
    );
    eq(usage.avg_requests_per_day, requests > 0 && steps !== 1 ? 1 : requests * 24, period);
  }
});

Deno.test("usage: a period that begins before the oldest stored day is marked incomplete", async () => {
  await using world = await World.open();
  const { reader, id } = await usedDaily(world, 1);
  const bodyOf = async (period: string) => (await usageOf(world, reader, id, period)).body;
  world.clock.nowMs += (SERIES_DAYS - 1) * DAY_MS;
  const whole = await bodyOf(`${SERIES_DAYS}d`);
  deq([whole.series.length, whole.total_requests, whole.complete], [SERIES_DAYS, 1, true]);
  const cut = await bodyOf("P1Y");
  deq({ ...whole, complete: false }, cut);
  const gone = await bodyOf("2029-01-01/2029-01-31");
  deq(gone.period, { from: "2029-01-31", to: "2029-01-31" });
  deq([gone.series, gone.avg_requests_per_day, gone.complete], [[], 0, false]);
});

Deno.test("usage: the last quarter is stored until the current one ends", async () => {
  await using world = await World.open();
  const { reader, id } = await usedDaily(world, 1);
  world.clock.nowMs = Date.parse("2030-06-30T23:59:59.999Z");
  const { body } = await usageOf(world, reader, id, "2030-Q1");
  deq([body.series.length, body.total_requests, body.complete], [90, 1, true]);
});
