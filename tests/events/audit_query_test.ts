import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { queryAudit } from "../../core/events/trail/search.ts";
import { RESOURCE_TYPES } from "../../core/events/types/resources.ts";
import { eventJson } from "../../core/events/events.ts";
import { tool } from "../mcp/client.ts";
import { type Account, World } from "../support/world.ts";

interface Event {
  readonly seq: number;
  readonly details: { readonly at: number };
}

const query = async (world: World, { token: as }: Account, text: string) => {
  const answer = await world.call("GET", `/api/audit?${text}`, { as });
  eq(answer.status, 200, answer.text);
  return answer.body;
};

/** Appends rows of a type to the log, numbered from 0. */
async function fill(world: World, { org, userId }: Account, n: number, type = "note") {
  const tenant = { org, space: "live" } as const;
  const work = { ...world.app, app: world.app, actor: { id: userId } };
  const resource = { type: "external", id: userId } as const;
  const rows = Array.from({ length: n }, (_, at) => {
    const json = eventJson(work, tenant, { type, resource, details: { at } });
    return world.app.store.append(tenant, type, json);
  });
  await Promise.all(rows);
}

const places = ({ events }: { events: Event[] }) => events.map(({ details }) => details.at);

Deno.test("audit: an offset skips rows, counted from the cursor if there is one", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await fill(world, owner, 20);
  const first = await query(world, owner, "event_type=note&limit=3&offset=2");
  deq(places(first), [17, 16, 15]);
  deq(first.pagination, {
    total: 20,
    total_is_at_least: false,
    limit: 3,
    offset: 2,
    has_more: true,
  });
  const next = await query(world, owner, `event_type=note&limit=3&cursor=${first.cursor}`);
  deq(places(next), [14, 13, 12]);
  const beside = `event_type=note&limit=3&offset=10&cursor=${first.cursor}`;
  const last = await query(world, owner, beside);
  deq([places(last), last.cursor, last.pagination.has_more], [[4, 3, 2], last.cursor, true]);
  const end = await query(world, owner, `event_type=note&limit=3&cursor=${last.cursor}`);
  deq([places(end), end.cursor, end.pagination.has_more], [[1, 0], null, false]);
  const past = await query(world, owner, "event_type=note&offset=20");
  deq([places(past), past.cursor, past.pagination.total], [[], null, 20]);
  const { body } = await world.call("GET", "/api/audit?offset=10001", { as: owner.token });
  eq(body.error.details.issues[0].path, "query.offset");
});

Deno.test("audit: without a filter an offset is a position in the log, and the total counts its rows", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await fill(world, owner, 20);
  const head = (await query(world, owner, "limit=1")).events[0].seq;
  const numbers = async (text: string) => {
    const { events, pagination } = await query(world, owner, text);
    return [pagination.total, ...events.map(({ seq }: Event) => seq)];
  };
  // Each read adds a row.
  deq(await numbers("limit=2&offset=5"), [head + 1, head - 4, head - 5]);
  deq(await numbers(`limit=2&offset=${head}`), [head + 2, 2, 1]);
  deq(await numbers("limit=2&offset=10000"), [head + 3]);
  const first = await query(world, owner, "limit=2");
  const next = await query(world, owner, `limit=2&cursor=${first.cursor}`);
  eq(next.pagination.total, first.pagination.total);
});

Deno.test("audit: a filtered total is exact up to 10,000 rows and a lower bound beyond, on every page", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await fill(world, owner, 10_000, "full");
  await fill(world, owner, 10_001, "more");
  await fill(world, owner, 7, "some");
  for (
    const [type, total, atLeast] of [["full", 10_000, false], ["more", 10_000, true], [
      "some",
      7,
      false,
    ]] as const
  ) {
    let cursor = "";
    for (let page = 0; page < 3; page++) {
      const body = await query(world, owner, `event_type=${type}&limit=2${cursor}`);
      deq([body.pagination.total, body.pagination.total_is_at_least], [total, atLeast], type);
      cursor = `&cursor=${body.cursor}`;
    }
  }
  const deep = await query(world, owner, "event_type=more&limit=5&offset=9999");
  deq([places(deep), deep.cursor], [[1, 0], null]);
});

Deno.test("audit: a query at its scan limit says so, and its cursor continues", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await fill(world, owner, 5, "rare");
  await fill(world, owner, 100);
  const actor = await world.app.authenticator.authenticate(owner.token, "live");
  const work = {
    ...world.app,
    app: world.app,
    actor,
    db: world.app.store,
    request: { id: "req_1" } as never,
  };
  const page = (cursor: string | null, offset: number) =>
    queryAudit(work, world.app.audit, { event_type: ["rare"] }, {
      limit: 10,
      offset,
      ...(cursor !== null && { cursor }),
    }, 50);
  const seen: unknown[] = [];
  let cursor: string | null = null, left = 2, pages = 0;
  do {
    const answer: Awaited<ReturnType<typeof page>> = await page(cursor, left);
    seen.push(...places(answer as never));
    eq(answer.pagination.total_is_at_least, true);
    left -= answer.pagination.offset;
    cursor = answer.cursor;
    pages++;
  } while (cursor !== null);
  deq(seen, [2, 1, 0]);
  ok(pages === 3, `${pages} pages`);
});

Deno.test("audit: an unknown value of an enumerated filter is 400 and lists the valid ones", async () => {
  await using world = await World.open();
  const { token: as } = await world.signUp();
  const closed = { result: ["success", "failure", "denied"], resource_type: RESOURCE_TYPES };
  for (const [name, known] of Object.entries(closed)) {
    for (const path of ["/api/audit", "/api/audit/export"]) {
      const { status, body } = await world.call("GET", `${path}?${name}=nonsense`, { as });
      const [issue] = body.error.details.issues;
      deq([status, issue.path], [400, `query.${name}`]);
      for (const value of known) ok(issue.message.includes(`"${value}"`), issue.message);
    }
  }
  // Organizations may use their own types.
  eq((await world.call("GET", "/api/audit?event_type=deploy.finished", { as })).status, 200);
});

Deno.test("audit: filters accept every ISO 8601 form, and a date means the whole day", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value: token } = await world.key(owner, ["audit:read"]);
  await world.settle();
  world.clock.nowMs += 36 * 60 * 60 * 1000; // 2030-01-02T12:00:00Z
  await fill(world, owner, 1);
  const count = async (text: string) =>
    (await query(world, { ...owner, token }, `event_type=note&${text}`)).events.length;
  const noon = ["T12:00:00Z", "T12:00:00.000Z", "T12:00", "T12", " 12:00Z", "T14:00+02:00"];
  noon.push("T12:00:00+00:00", "T12:00:00%2B00:00", "T12:00:00%2b0000", "T12:00:00-00:00");
  for (const time of noon) {
    for (const date of ["2030-01-02", "20300102", "2030-002", "2030-W01-3"]) {
      const at = date + time;
      eq(await count(`start_time=${at}&end_time=${at}`), 1, at);
    }
  }
  for (const date of ["2030-01-02", "2030-W01-3", "2030-01", "2030"]) {
    eq(await count(`start_time=${date}&end_time=${date}`), 1, date);
  }
  eq(await count("start_time=2030-01-03"), 0);
  eq(await count("end_time=2030-01-01"), 0);
  eq(await count("start_time=2030-01-02T12:00:00.001"), 0);
});

Deno.test("audit: a filter with an unpaired surrogate is 400", async () => {
  await using world = await World.open();
  const { token: as } = await world.signUp();
  for (const name of ["actor", "resource_id", "text", "event_type"]) {
    const { body } = await tool(world, "query_audit_log", { [name]: "x\ud800" }, { as });
    deq(body.result._meta["relay/error"]?.code, "VALIDATION_FAILED", name);
  }
});
