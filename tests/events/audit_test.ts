import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { mayHaveResult, resultOf } from "../../core/events/trail/result.ts";
import { RESULTS } from "../../core/events/types/event.ts";
import type { EventRow } from "../../core/events/events.ts";
import { type Account, World } from "../support/world.ts";
import { NO_LIMITS } from "../support/no_limits.ts";
import { AGENT_RIGHTS, linkAgent } from "../support/linked_agent.ts";

interface Event {
  readonly seq: number;
  readonly event_id: string;
  readonly event_type: string;
  readonly timestamp: string;
  readonly actor: string;
  readonly resource_id: string;
  readonly details: Record<string, unknown>;
}

const query = (world: World, { token }: Account, text = "") =>
  world.call("GET", `/api/audit${text}`, { as: token });

const register = (world: World, as: string, body: Record<string, unknown>) =>
  world.call("POST", "/api/audit/event", { as, body });

const exported = (world: World, { token }: Account, accept: string, text = "") =>
  world.call("GET", `/api/audit/export${text}`, { as: token, headers: { accept } });

/** The whole stored log, oldest first, without the rows of reads. */
async function stored(world: World, { org }: Account): Promise<Event[]> {
  await world.settle();
  const rows = await world.app.log.read({ org, space: "live" }, 0, 10_000);
  return rows.map(({ seq, json }) => ({ seq, ...JSON.parse(json) })).filter(isChange);
}

const isChange = ({ event_type }: Event) => !/^audit_(read|exported)$/.test(event_type);

/** The rows of an export without their proofs. */
const rowsOf = (rows: Record<string, unknown>[]) =>
  rows.map(({ leaf_hash, before, tile_hash, ...row }) => {
    ok(leaf_hash !== undefined && before !== null && tile_hash !== null);
    return row as unknown as Event;
  }).filter(isChange);

async function fill(world: World, { token }: Account, n: number): Promise<void> {
  const ids = Array.from({ length: n }, (_, at) => at);
  await Promise.all(
    ids.map((at) => register(world, token, { event_type: "note", details: { at } })),
  );
}

Deno.test("audit: a query shows every change whose response preceded it, newest first", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  for (let n = 0; n < 5; n++) {
    const { id } = await world.key(owner, ["agents:read"]);
    const { body } = await query(world, owner, "?limit=1");
    deq([body.events[0].event_type, body.events[0].resource_id], ["api_key_created", id]);
    eq(body.pagination.total, body.events[0].seq);
  }
  const { body: { events } } = await query(world, owner);
  deq(events.filter(isChange), (await stored(world, owner)).reverse());
  deq(events.map(({ seq }: Event) => seq), [12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
});

Deno.test("audit: all filters and both times apply together", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  await world.advance(1_000);
  const { id } = await world.key(here.owner, ["agents:read"]);
  await world.advance(1_000);
  await register(world, here.owner.token, { event_type: "deploy", actor: "ci" });
  const all = (await stored(world, here.owner)).reverse();
  const at = (second: number) => `2030-01-01T00:00:0${second}.000Z`;
  const cases: [string, (event: Event & { resource_type?: string }) => boolean][] = [
    ["event_type=agent_created", (e) => e.event_type === "agent_created"],
    [
      "event_type=agent_created,deploy",
      (e) => ["agent_created", "deploy"].includes(e.event_type),
    ],
    ["actor=ci", (e) => e.actor === "ci"],
    ["resource_type=agent", (e) => e.resource_type === "agent"],
    [`resource_id=${id}`, (e) => e.resource_id === id],
    [`start_time=${at(1)}`, (e) => e.timestamp >= at(1)],
    [`end_time=${at(1)}`, (e) => e.timestamp <= at(1)],
    [`start_time=${at(1)}&end_time=${at(1)}`, (e) => e.timestamp === at(1)],
    [`start_time=2030-01-01T01:00:01%2B01:00`, (e) => e.timestamp >= at(1)],
    ["result=success", () => true],
    ["result=denied", () => false],
    ["text=WEB-1.example", (e) => "hostname" in e.details],
    ["text=%22", () => false],
    [`resource_type=agent&event_type=api_key_created`, () => false],
    [
      `actor=${here.owner.userId}&resource_type=api_key&end_time=${at(0)}`,
      (e) =>
        e.actor === here.owner.userId && e.resource_type === "api_key" && e.timestamp === at(0),
    ],
  ];
  for (const [text, wanted] of cases) {
    const expected = all.filter(wanted);
    const { events } = (await query(world, here.owner, `?${text}`)).body;
    deq(events.filter(isChange), expected, text);
    const { body } = await exported(world, here.owner, "application/json", `?${text}`);
    deq(rowsOf(body.events), expected.toReversed(), text);
  }
});

Deno.test("audit: paging by cursor shows each row once, whatever is written meanwhile", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await fill(world, owner, 20);
  for (const filter of ["", "&event_type=note"]) {
    const expected = (await stored(world, owner)).reverse()
      .filter(({ event_type }) => filter === "" || event_type === "note");
    const seen: Event[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const more: string = cursor === "" ? "" : `&cursor=${cursor}`;
      const { body } = await query(world, owner, `?limit=3${filter}${more}`);
      seen.push(...body.events.filter(isChange));
      eq(body.pagination.has_more, body.cursor !== null);
      cursor = body.cursor;
      await fill(world, owner, 2);
    }
    deq(seen, expected);
  }
});

Deno.test("audit: concurrent writers leave no gap in the log of any organization and space", async () => {
  await using world = await World.open();
  const [one, two] = [await world.signUp(), await world.signUp()];
  await Promise.all([fill(world, one, 60), fill(world, two, 40), fill(world, one, 60)]);
  const test = { "x-relay-space": "test" };
  await world.call("POST", "/api/audit/event", {
    as: one.token,
    body: { event_type: "note" },
    headers: test,
  });
  for (const [account, n] of [[one, 120], [two, 40]] as const) {
    const rows = await stored(world, account);
    deq(rows.map(({ seq }) => seq), Array.from({ length: n + 2 }, (_, at) => at + 1));
    eq(rows.filter(({ event_type }) => event_type === "note").length, n);
  }
  const other = await world.call("GET", "/api/audit", { as: one.token, headers: test });
  deq(other.body.events.map(({ seq }: Event) => seq), [1]);
});

Deno.test("audit.export: JSON, NDJSON and CSV contain the whole log, oldest first", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  await fill(world, here.owner, 1_200);
  const rows = await stored(world, here.owner);
  const json = await exported(world, here.owner, "application/json");
  deq(rowsOf(json.body.events), rows);
  const lines = await exported(world, here.owner, "application/x-ndjson");
  const parsed = lines.text.trimEnd().split("\n").map((line) => JSON.parse(line));
  deq(rowsOf(parsed.slice(0, -1)), rows);
  deq(Object.keys(parsed.at(-1)), ["proof"]);
  const csv = await exported(world, here.owner, "text/csv");
  const [head, ...records] = csv.text.trimEnd().split("\r\n");
  eq(
    head,
    "seq,event_id,event_type,timestamp,actor,resource_type,resource_id,agent_id,request_id,details,leaf_hash,thread",
  );
  eq(records.length, rows.length + 2);
  for (const [at, row] of rows.entries()) {
    ok(records[at]!.startsWith(`${row.seq},${row.event_id},${row.event_type},${row.timestamp}`));
    ok(records[at]!.includes(JSON.stringify(row.details).replaceAll('"', '""')));
  }
  const names = [json, lines, csv].map(({ headers }) => headers.get("content-disposition"));
  deq(names, ["json", "ndjson", "csv"].map((each) => `attachment; filename="audit.${each}"`));
});

Deno.test("audit.export: the first accepted format is used, and none is 406", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const cases: [string, string | null][] = [
    ["*/*", "application/json"],
    ["text/html, text/csv;q=0.9", "text/csv"],
    ["application/x-ndjson, */*", "application/x-ndjson"],
    ["text/html", null],
  ];
  for (const [accept, type] of cases) {
    const answer = await exported(world, owner, accept);
    eq(answer.status, type === null ? 406 : 200, accept);
    if (type !== null) eq(answer.headers.get("content-type"), type);
  }
});

Deno.test("audit.export: a spreadsheet runs no text of callers", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  for (const actor of ["=1+1", "@SUM(A1)", "+1", "-1", "a,b", 'say "x"']) {
    await register(world, owner.token, { event_type: "note", actor });
  }
  const { text } = await exported(world, owner, "text/csv", "?event_type=note");
  const actors = text.trimEnd().split("\r\n").slice(1).map((line) => line.split(/Z,|,external/)[1]);
  deq(actors, ["'=1+1", "'@SUM(A1)", "'+1", "'-1", '"a,b"', '"say ""x"""']);
});

Deno.test("audit.export: a row's hash is the same in every format, also one that begins with a sign", async () => {
  await using world = await World.open({ config: NO_LIMITS });
  const owner = await world.signUp();
  for (let n = 0; n < 150; n++) await register(world, owner.token, { event_type: "note" });
  const hashes = async (form: string, pattern: RegExp) => {
    const { text } = await exported(world, owner, form, "?event_type=note");
    return [...text.matchAll(pattern)].map((match) => match[1]!);
  };
  const told = await hashes("application/x-ndjson", /"leaf_hash":"([^"]+)"/g);
  ok(told.some((hash) => hash.startsWith("+")));
  deq(await hashes("text/csv", /,([^,\r]+),[^,\r]*\r\n/g), ["leaf_hash", ...told]);
});

Deno.test("audit: a cursor of another list is 400", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const b64 = (text: string) => btoa(text).replaceAll("=", "");
  for (
    const cursor of ["x", "%20", b64("0"), b64("-1"), b64("1e1"), b64(" 1"), b64("99"), "Mg=="]
  ) {
    const answer = await query(world, owner, `?cursor=${cursor}`);
    deq([answer.status, answer.body.error.code], [400, "VALIDATION_FAILED"], cursor);
  }
  eq((await query(world, owner, `?cursor=${b64("2")}`)).body.events.length, 1);
});

Deno.test("audit: reads and exports are recorded with their filter", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await query(world, owner, "?text=abc&start_time=2029-01-01T00:00:00Z");
  await exported(world, owner, "text/csv", "?result=denied");
  const as = { as: owner.token };
  const { body: { events: [first] } } = await query(world, owner, "?event_type=audit_read");
  for (const path of [`checkpoint`, `proof/${first.event_id}`, "consistency?from=1&to=2"]) {
    eq((await world.call("GET", `/api/audit/${path}`, as)).status, 200);
  }
  eq((await world.call("GET", `/api/audit/proof/${first.actor}`, as)).status, 404);
  eq((await world.call("GET", "/api/audit/consistency?from=3&to=2", as)).status, 400);
  eq((await world.call("GET", "/api/audit/consistency?from=1&to=2000", as)).status, 400);
  const { body: { events } } = await query(world, owner, "?resource_type=audit_log");
  deq(events.toReversed().map(({ event_type, details }: Event) => [event_type, details]), [
    ["audit_read", {
      events: 0,
      filter: { text: "abc", start_time: "2029-01-01T00:00:00.000Z" },
    }],
    ["audit_exported", { filter: { result: "denied" }, format: "text/csv", tree_size: 3 }],
    ["audit_read", { events: 1, filter: { event_type: "audit_read" } }],
    ["audit_checkpoint_read", { tree_size: 5 }],
    ["audit_proof_read", { event_id: first.event_id }],
    ["audit_proof_read", { from: 1, to: 2 }],
  ]);
});

Deno.test("audit.register: records the actor that the caller names, and the credential that reported it", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, ["audit:write"]);
  const details = { ip: "192.0.2.9", reported_by: "somebody else", nested: { deep: [1, null] } };
  const body = { event_type: "user_login", actor: "alice@example.com", details };
  const { status, body: made } = await register(world, key.value, body);
  eq(status, 201);
  const { body: { events: [event] } } = await query(world, owner, "?event_type=user_login");
  deq([event.event_id, event.timestamp], [made.event_id, made.timestamp]);
  deq([event.actor, event.resource_type, event.resource_id], [
    "alice@example.com",
    "external",
    key.id,
  ]);
  deq(event.details, { ...details, reported_by: key.id });
  await register(world, key.value, { event_type: "deploy.done" });
  const { body: { events: [plain] } } = await query(world, owner, "?event_type=deploy.done");
  deq([plain.actor, plain.details], [key.id, { reported_by: key.id }]);
});

Deno.test("audit.register: Relay's own event types and unstorable values are refused", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const cases: [Record<string, unknown>, string][] = [
    [{ event_type: "api_key_used" }, "body.event_type"],
    [{ event_type: "command_executed" }, "body.event_type"],
    [{ event_type: "webhook_disabled" }, "body.event_type"],
    [{ event_type: "Deploy" }, "body.event_type"],
    [{ event_type: "tab\there" }, "body.event_type"],
    [{ event_type: "x".repeat(65) }, "body.event_type"],
    [{ event_type: "note", actor: "" }, "body.actor"],
    [{ event_type: "note", actor: "x".repeat(129) }, "body.actor"],
    [{ event_type: "note", details: [] }, "body.details"],
    [{ event_type: "note", details: { big: "x".repeat(8 * 1024) } }, "body.details"],
  ];
  for (const [body, path] of cases) {
    const answer = await register(world, owner.token, body);
    deq([answer.status, answer.body.error.code], [400, "VALIDATION_FAILED"]);
    deq(answer.body.error.details.issues.map((issue: { path: string }) => issue.path), [path]);
  }
  eq((await stored(world, owner)).length, 2);
  // The name of a property of every object is not a reserved type.
  eq((await register(world, owner.token, { event_type: "constructor" })).status, 201);
});

Deno.test("audit: a key with the rights reads and writes, and its use is recorded", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const [reader, none] = [
    await world.key(owner, ["audit:read"]),
    await world.key(owner, AGENT_RIGHTS),
  ];
  eq((await query(world, { ...owner, token: reader.value })).status, 200);
  eq((await exported(world, { ...owner, token: reader.value }, "*/*")).status, 200);
  eq((await register(world, reader.value, { event_type: "note" })).status, 403);
  eq((await query(world, { ...owner, token: none.value })).status, 403);
  const { body: { events } } = await query(world, owner, `?event_type=api_key_used`);
  deq(events.map(({ actor, details }: Event) => [actor, details.endpoint, details.status]), [
    [none.id, "GET /api/audit", 403],
    [reader.id, "POST /api/audit/event", 403],
    [reader.id, "GET /api/audit/export", 200],
    [reader.id, "GET /api/audit", 200],
  ]);
});

Deno.test("audit: a forged cursor is 400", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const made = ["0", "-1", "1.5", "1e30", "18446744073709551616", "x"].map((text) =>
    btoa(text).replaceAll("=", "")
  );
  for (const cursor of ["", "*", "%00", "a".repeat(64), "a".repeat(65), ...made]) {
    const { status, body } = await world.call("GET", `/api/audit?cursor=${cursor}`, {
      as: owner.token,
    });
    deq([status, body.error.code], [400, "VALIDATION_FAILED"], cursor);
    eq(body.error.details.issues[0].path, "query.cursor");
  }
});

Deno.test("resultOf: the outcome is that of the reported action", () => {
  const of = (event_type: string, details = {}) => resultOf({ event_type, details } as EventRow);
  const cases: Record<string, [string, object?][]> = {
    success: [
      ["user_login"],
      ["api_key_used", { status: 200 }],
      ["command_executed", { status: "succeeded" }],
      ["approval_resolved", { decision: "approved" }],
      ["session_timeout"],
    ],
    failure: [
      ["user_login_failed"],
      ["api_key_used", { status: 500 }],
      ["command_executed", { status: "failed" }],
      ["command_failed"],
      ["command_timeout"],
      ["approval_resolved", { decision: "expired" }],
    ],
    denied: [
      ["access_denied"],
      ["command_denied"],
      ["api_key_used", { status: 403 }],
      ["approval_resolved", { decision: "rejected" }],
      ["receipt_refused"],
    ],
  };
  for (const [result, rows] of Object.entries(cases)) {
    for (const [type, details] of rows) {
      eq(of(type, details), result, `${type} ${result}`);
      const row = { seq: 1, type, json: JSON.stringify({ details }) };
      for (const other of RESULTS) ok(other !== result || mayHaveResult(row, other), type);
    }
  }
});

Deno.test("audit: a query of an old period does not read newer rows", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await fill(world, owner, 20);
  await world.settle();
  const before = (await stored(world, owner)).at(-1)!;
  world.clock.advance(10 * 60 * 1000);
  for (let n = 0; n < 30; n++) {
    await fill(world, owner, 20);
    await world.settle();
  }
  const { log } = world.app;
  const backwards = log.backwards.bind(log);
  const starts: number[] = [];
  log.backwards = (...args) => {
    starts.push(args[1]);
    return backwards(...args);
  };
  const text = `?end_time=2030-01-01T00:05:00Z&limit=200&event_type=note`;
  const { events } = (await query(world, owner, text)).body;
  log.backwards = backwards;
  eq(events.length, 20);
  ok(starts.every((start) => start <= before.seq + 1), `${starts}`);
});
