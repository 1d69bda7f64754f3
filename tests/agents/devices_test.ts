import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { newIdentity, ScriptedAgent } from "../support/agent.ts";
import { type Account, World } from "../support/world.ts";
import { rawRows } from "../support/raw_rows.ts";

const MINUTE_MS = 60_000;

async function codeOf(world: World, { token }: Account): Promise<string> {
  const made = await world.call("POST", "/api/devices/pairing-codes", { as: token });
  eq(made.status, 201);
  return made.body.pairing_code;
}

const pair = (world: World, pairing_code: string, from = "192.0.2.9") =>
  world.call("POST", "/api/devices/pair", {
    body: { device_name: "box", pairing_code },
    from,
  });
const confirm = (world: World, device_id: string, token: string, from = "192.0.2.9") =>
  world.call("POST", "/api/devices/confirm", { body: { device_id, token }, from });
const trust = (world: World, { token }: Account, id: string) =>
  world.call("GET", `/api/devices/${id}/trust`, { as: token });

/** A confirmed device. */
async function paired(world: World, account: Account) {
  const { body } = await pair(world, await codeOf(world, account));
  const answer = await confirm(world, body.device_id, body.token);
  eq(answer.status, 200);
  return { id: body.device_id as string, credential: answer.body.credential as string, body };
}

/** The status and the reason of a refusal. */
const why = ({ status, body }: { status: number; body: { error: { details: unknown } } }) => [
  status,
  (body.error.details as { reason?: string }).reason,
];

Deno.test("devices: unused codes are listed without their values, and a voided one pairs nothing", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const as = owner.token;
  const used = await codeOf(world, owner);
  await pair(world, used);
  const made = await world.call("POST", "/api/devices/pairing-codes", {
    as,
    body: { labels: { env: "prod" } },
  });
  const { id, pairing_code, labels, expires_at } = made.body;
  const list = async () =>
    (await world.call("GET", "/api/devices/pairing-codes", { as })).body.pairing_codes;
  const [{ created_by, created_with, ...listed }, ...others] = await list();
  deq([listed, others, created_by], [{ id, labels, expires_at }, [], owner.userId]);
  eq(created_with.kind, "session");
  const drop = () => world.call("DELETE", `/api/devices/pairing-codes/${id}`, { as });
  deq([(await drop()).status, (await drop()).status], [204, 404]);
  deq(why(await pair(world, pairing_code)), [400, "unknown"]);
  await codeOf(world, owner);
  await world.advance(10 * MINUTE_MS);
  deq(await list(), []);
});

Deno.test("devices: a code pairs a device, a token gives its credential, and the credential runs an agent", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const code = await codeOf(world, owner);
  ok(/^([0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}$/.test(code), code);
  const { body } = await pair(world, code.toLowerCase().replaceAll("-", " "));
  const pending = await trust(world, owner, body.device_id);
  deq(
    [pending.body.trust_status, pending.body.reasons.map((r: { code: string }) => r.code)],
    ["pending", ["paired", "unconfirmed"]],
  );
  const { body: { credential } } = await confirm(world, body.device_id, body.token);
  const agent = await ScriptedAgent.connect(world, credential);
  eq(agent.closed, null);
  const now = await trust(world, owner, body.device_id);
  deq(
    [now.body.trusted, now.body.reasons.map((r: { code: string }) => r.code)],
    [true, ["paired", "confirmed", "agent_bound"]],
  );
  const { body: { devices, pagination } } = await world.call("GET", "/api/devices", {
    as: owner.token,
  });
  const { id } = devices[0];
  const ofCode = async ({ token }: Account, code: string, more = "") => {
    const path = `/api/devices?pairing_code_id=${code}${more}`;
    const { body } = await world.call("GET", path, { as: token });
    return body.devices.map(({ id }: { id: string }) => id);
  };
  const { pairing_code_id: used } = devices[0];
  deq(await ofCode(owner, used), [id]);
  deq(await ofCode(owner, used, "&trust_status=pending"), []);
  deq(await ofCode(owner, "pco_unused"), []);
  deq(await ofCode(await world.signUp(), used), []);
  deq([devices[0].agent_id, pagination.total], [agent.id, 1]);
  const run = await world.call("GET", `/api/exec/${agent.id}?command=uptime`, { as: owner.token });
  eq(run.body.stdout, "done\n");
  const trail = await world.trail(owner);
  deq(
    ["device_code_created", "device_paired", "device_confirmed"].filter((type) =>
      !trail.includes(type)
    ),
    [],
  );
});

Deno.test("devices: the agent gets the labels of the code, whatever it reports", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const path = "/api/devices/pairing-codes";
  const make = (labels: unknown) => world.call("POST", path, { as: owner.token, body: { labels } });
  for (const wrong of [{ "": "x" }, { env: "\n" }, { env: 1 }, ["env"], { "-": "x" }]) {
    const { status, body } = await make(wrong);
    deq([status, body.error.code], [400, "VALIDATION_FAILED"]);
  }
  const issues = (await make({ "a b": "x" })).body.error.details.issues;
  deq(issues, [{
    path: "body.labels.a b",
    message:
      "Invalid key in record: must be a letter or digit, then up to 62 letters, digits, '.', '_', " +
      "'/' and '-'",
  }]);
  const made = await make({ env: "prod", tier: "db" });
  deq(made.body.labels, { env: "prod", tier: "db" });
  const { body } = await pair(world, made.body.pairing_code);
  const { body: { device, credential } } = await confirm(world, body.device_id, body.token);
  deq(device.labels, { env: "prod", tier: "db" });
  const told = { env: "dev", zone: "a" };
  const agent = await ScriptedAgent.connect(world, credential, { labels: told });
  const shown = await world.call("GET", `/api/v1/agents/${agent.id}`, { as: owner.token });
  deq(shown.body.labels, { env: "prod", tier: "db", zone: "a" });
});

Deno.test("devices: unknown, used and expired codes and tokens are 400, 409 and 410, and nothing is stored", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const total = async () =>
    (await world.call("GET", "/api/devices", { as: owner.token })).body.pagination.total;
  deq(why(await pair(world, "0000-0000-0000-0000")), [400, "unknown"]);
  const code = await codeOf(world, owner);
  const { body } = await pair(world, code);
  deq(why(await pair(world, code)), [409, "used"]);
  deq(why(await confirm(world, body.device_id, "svc_pairing_wrong")), [400, "unknown"]);
  deq(why(await confirm(world, "dev_missing", body.token)), [400, "unknown"]);
  const late = await codeOf(world, owner);
  await world.advance(10 * MINUTE_MS);
  deq(why(await pair(world, late)), [410, "expired"]);
  deq(why(await confirm(world, body.device_id, body.token)), [410, "expired"]);
  eq(await total(), 1);
  eq((await trust(world, owner, body.device_id)).body.reasons.at(-1).code, "token_expired");
  const other = await paired(world, owner);
  deq(why(await confirm(world, other.id, other.body.token)), [409, "used"]);
  eq((await pair(world, "")).status, 400);
  eq((await pair(world, "x".repeat(129))).status, 400);
  eq(await total(), 2);
});

Deno.test("devices: a code used twice at once pairs one device", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const code = await codeOf(world, owner);
  const answers = await Promise.all([1, 2, 3, 4].map((n) => pair(world, code, `192.0.2.${n}`)));
  deq(answers.map(({ status }) => status).sort(), [201, 409, 409, 409]);
});

Deno.test("devices: after ten failures an address must wait, and other addresses need not", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  for (let n = 0; n < 10; n++) eq((await pair(world, `wrong ${n}`)).status, 400);
  const code = await codeOf(world, owner);
  const refused = await pair(world, code);
  deq([refused.status, refused.body.error.details.scope], [429, "pairing"]);
  eq((await confirm(world, "dev_x", "x")).status, 429);
  eq((await pair(world, code, "198.51.100.1")).status, 201);
  await world.advance(15 * MINUTE_MS);
  eq((await pair(world, await codeOf(world, owner))).status, 201);
});

Deno.test("devices: when many pair from one address at once, none waits longer than 1 s", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const codes = await Promise.all(Array.from({ length: 15 }, () => codeOf(world, owner)));
  const answers = await Promise.all(codes.map((code) => pair(world, code)));
  const waits = answers.map(({ status, headers }) => `${status} ${headers.get("retry-after")}`);
  deq([...new Set(waits)].filter((wait) => wait !== "429 1"), ["201 null"]);
  const left = codes.filter((_, at) => answers[at]!.status === 429);
  for (const code of left) eq((await pair(world, code)).status, 201);
});

Deno.test("devices: a successful pairing does not count as an attempt, and forgives no earlier failure", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  for (let n = 0; n < 9; n++) eq((await pair(world, `wrong ${n}`)).status, 400);
  for (let n = 0; n < 3; n++) eq((await pair(world, await codeOf(world, owner))).status, 201);
  eq((await pair(world, "wrong")).status, 400);
  eq((await pair(world, await codeOf(world, owner))).status, 429);
});

Deno.test("devices: a credential opens its own link and nothing else", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { credential } = await paired(world, owner);
  for (const path of ["/api/account/info", "/api/v1/agents", "/api/devices", "/api/events"]) {
    const answer = await world.call("GET", path, { as: credential });
    deq(why(answer), [401, "device"]);
  }
  const socket = { upgrade: "websocket", connection: "upgrade" };
  eq((await world.call("GET", "/ws", { as: credential, headers: socket })).status, 403);
  const mine = newIdentity();
  const agent = await ScriptedAgent.connect(world, credential, { identity: mine });
  const second = await ScriptedAgent.connect(world, credential);
  deq([second.closed?.code, agent.closed], [4403, null]);
  const stolen = await paired(world, owner);
  const thief = await ScriptedAgent.connect(world, stolen.credential, { identity: mine });
  deq([thief.closed?.code, agent.closed], [4403, null]);
  const key = await world.key(owner, ["agents:admin"]);
  const byKey = await ScriptedAgent.connect(world, key.value, { identity: mine });
  deq([byKey.closed?.code, agent.closed], [4403, null]);
});

Deno.test("devices: deletion closes the device's link and no other, and revokes its trust with the reason", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const [one, other] = [await paired(world, owner), await paired(world, owner)];
  const cut = await ScriptedAgent.connect(world, one.credential);
  const kept = await ScriptedAgent.connect(world, other.credential);
  const path = `/api/devices/${one.id}`;
  eq((await world.call("DELETE", path, { as: owner.token })).status, 204);
  await world.settle();
  ok(cut.closed !== null, "the link is cut at once");
  await world.advance(1000);
  eq(kept.closed, null);
  const { body } = await trust(world, owner, one.id);
  deq([body.trust_status, body.reasons.at(-1).code], ["revoked", "deleted"]);
  ok(body.reasons.at(-1).message.includes(owner.userId));
  eq((await world.call("DELETE", path, { as: owner.token })).status, 404);
  const list = await world.call("GET", "/api/devices", { as: owner.token });
  deq(list.body.devices.map(({ id }: { id: string }) => id), [other.id]);
});

Deno.test("devices: devices of a deactivated organization lose their links within 1 s, and its codes stop working", async () => {
  await using world = await World.open();
  const host = await world.signUp();
  const guest = await world.signUp();
  const device = await paired(world, guest);
  const agent = await ScriptedAgent.connect(world, device.credential);
  await world.advance(1000);
  const code = await codeOf(world, guest);
  const path = `/api/admin/accounts/${guest.org}/toggle`;
  await world.call("POST", path, { as: host.token, body: { active: false } });
  await world.advance(1000);
  eq(agent.closed?.code, 4401);
  deq(why(await pair(world, code)), [400, "unknown"]);
});

Deno.test("devices: a code and its token are void once the code's maker may no longer pair devices", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const person = await world.join(owner, ["admin"]);
  const act = async (path: string, body?: unknown) =>
    eq((await world.call("POST", path, { as: owner.token, body })).status, 200);
  const [first, second] = [await codeOf(world, person), await codeOf(world, person)];
  const { body: pending } = await pair(world, first);
  const tried = async () => [
    why(await pair(world, second)),
    why(await confirm(world, pending.device_id, pending.token)),
  ];
  await act("/api/v1/roles/admin/revoke", { user_id: person.userId });
  deq(await tried(), [[410, "void"], [410, "void"]]);
  await act("/api/v1/roles/admin/assign", { user_id: person.userId });
  await act(`/api/v1/users/${person.userId}/deactivate`);
  deq(await tried(), [[410, "void"], [410, "void"]]);
  await act(`/api/v1/users/${person.userId}/activate`);
  eq((await confirm(world, pending.device_id, pending.token)).status, 200);
  eq((await pair(world, second)).status, 201);
  for (const type of ["live", "test"]) {
    const key = await world.key(owner, ["agents:admin"], { type });
    const ofKey = { token: key.value } as Account;
    const [used, left] = [await codeOf(world, ofKey), await codeOf(world, ofKey)];
    const { body: device } = await pair(world, used);
    await act(`/api/v1/api-keys/${key.id}/revoke`);
    deq(why(await pair(world, left)), [410, "void"]);
    deq(why(await confirm(world, device.device_id, device.token)), [410, "void"]);
  }
});

Deno.test("devices: devices of another organization or space are not found", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const stranger = await world.signUp();
  const { id } = await paired(world, owner);
  const inTest = { as: owner.token, headers: { "x-relay-space": "test" } };
  for (const call of [{ as: stranger.token }, inTest]) {
    eq((await world.call("GET", `/api/devices/${id}/trust`, call)).status, 404);
    eq((await world.call("DELETE", `/api/devices/${id}`, call)).status, 404);
    eq((await world.call("GET", "/api/devices", call)).body.pagination.total, 0);
  }
  eq((await trust(world, owner, id)).body.trusted, true);
});

Deno.test("devices: codes, tokens and credentials are not stored in clear text", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const code = await codeOf(world, owner);
  const { body } = await pair(world, code);
  const { body: { credential } } = await confirm(world, body.device_id, body.token);
  await world.settle();
  for (const { key, value } of await rawRows(world.kv)) {
    const text = JSON.stringify(
      [key, value],
      (_, v) => typeof v === "bigint" || v instanceof Deno.KvU64 ? String(v) : v,
    );
    for (const secret of [code, code.replaceAll("-", ""), body.token, credential]) {
      ok(!text.includes(secret), `${key.join("/")} holds a secret`);
    }
  }
});
