import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { users } from "../../../kv/records/user.ts";
import { type Account, World } from "../../support/world.ts";
import { eventsOf, makeHook } from "../../support/linked_agent.ts";
import { act, answering, happen, hear, newest } from "./hook_fixtures.ts";
import { FIRST_RETRY_MS } from "../../support/ladder.ts";

const PATH = "/api/v1/webhooks";
const OLD = "sixteen characters";
const NEW = "eighteen characters";
const HOUR_MS = 60 * 60 * 1000;

const patch = (world: World, as: string, id: string, body: Record<string, unknown>) =>
  world.call("PATCH", `${PATH}/${id}`, { as, body });

/** Sends a ping; answers the headers and the body that arrived. */
async function ping(world: World, { token }: Pick<Account, "token">, id: string) {
  await world.call("POST", `${PATH}/${id}/test`, { as: token });
  await world.settle();
  return world.network.sent.at(-1)!;
}

async function signIn(world: World, { email }: Account): Promise<string> {
  const body = { email, password: "password 1" };
  return (await world.call("POST", "/api/v1/login", { body })).body.token;
}

const hmac = (secret: string, body: unknown) =>
  `sha256=${createHmac("sha256", secret).update(String(body)).digest("hex")}`;

Deno.test("webhooks.update: replaces the given fields, and the audit trail names them", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const made = await makeHook(world, owner, ["agent_created"], {
    headers: { "X-Team": "ops" },
    retry_policy: { max_retries: 3 },
  });
  const change = {
    name: "renamed",
    url: "https://other.example.com/y",
    events: ["policy_created", "agent_created"],
    headers: { "X-Team": "dev" },
    retry_policy: { timeout_seconds: 5 },
  };
  const { status, body } = await patch(world, owner.token, made.id, change);
  eq(status, 200);
  const { headers, retry_policy, ...rest } = change;
  deq(body, {
    ...made,
    ...rest,
    custom_headers: headers,
    retry_policy: { ...made.retry_policy, ...retry_policy },
  });
  deq((await world.call("GET", `${PATH}/${made.id}`, { as: owner.token })).body, body);
  const sent = await ping(world, owner, made.id);
  deq([sent.url, sent.headers["X-Team"], sent.deadlineMs], [change.url, "dev", 5_000]);
  const [, updated] = await eventsOf(world, owner, made.id);
  deq([updated!.event_type, updated!.details], ["webhook_updated", {
    name: "renamed",
    changed: ["name", "url", "events", "headers", "retry_policy"],
  }]);
  // Equal values change nothing and cause no event.
  eq((await patch(world, owner.token, made.id, { ...change, secret: OLD })).status, 200);
  const types = (await eventsOf(world, owner, made.id)).map(({ event_type }) => event_type);
  deq(types, ["webhook_created", "webhook_updated", "webhook_tested"]);
});

Deno.test("webhooks.update: names the path of each error, and changes nothing", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const made = await makeHook(world, owner, ["agent_created"]);
  const cases: [Record<string, unknown>, string][] = [
    [{}, "body"],
    [{ name: "" }, "body.name"],
    [{ secret: "short" }, "body.secret"],
    [{ events: [] }, "body.events"],
    [{ events: ["agent_created", "agent_created"] }, "body.events"],
    [{ url: "http://10.0.0.1/" }, "body.url"],
    [{ headers: { "X-Service-Signature": "forged" } }, "body.headers.X-Service-Signature"],
    [{ headers: { "webhook-signature": "forged" } }, "body.headers.webhook-signature"],
    [{ headers: { "X-A": "line\r\nX-B: 1" } }, "body.headers.X-A"],
    [{ retry_policy: { max_retries: 13 } }, "body.retry_policy.max_retries"],
    [{ retry_policy: { retries: 1 } }, "body.retry_policy"],
  ];
  for (const [change, path] of cases) {
    const { status, body } = await patch(world, owner.token, made.id, change);
    deq([status, body.error.details.issues?.[0].path], [400, path], JSON.stringify(change));
  }
  deq((await world.call("GET", `${PATH}/${made.id}`, { as: owner.token })).body, made);
});

Deno.test("webhooks.update: refuses to redirect events that the caller may not read, or to add ones that the creator may not", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await makeHook(world, owner, ["agent_created"]);
  const key = await world.key(owner, ["system:write", "system:read", "policy:read"]);
  for (
    const change of [
      { url: "https://mine.example.com/" },
      { secret: NEW },
      { headers: { "X-A": "1" } },
      { events: ["policy_created", "agent_created"] },
    ]
  ) {
    const { status, body: { error } } = await patch(world, key.value, hook.id, change);
    deq([status, error.code], [403, "INSUFFICIENT_SCOPES"], JSON.stringify(change));
    deq(error.details.required, ["agents:read"]);
  }
  eq((await patch(world, key.value, hook.id, { name: "renamed" })).status, 200);
  eq((await patch(world, key.value, hook.id, { events: ["policy_created"] })).status, 200);
  const other = await world.join(owner, ["owner"]);
  const tenant = { org: owner.org, space: "live" } as const;
  await world.app.store.transact(async (tx) => {
    const creator = await tx.get(users, tenant, owner.userId);
    tx.put(users, tenant, { ...creator!, roles: [] });
  });
  const refused = await patch(world, other.token, hook.id, { events: ["agent_created"] });
  deq([refused.status, refused.body.error.details.granted], [403, []]);
});

Deno.test("webhooks.update: waiting deliveries of unsubscribed events are never sent, so a redirect does not leak them", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await hear(world, owner, { retry_policy: { auto_disable: false } });
  answering(world, 500);
  await happen(world, owner);
  await world.settle();
  answering(world, 204);
  const key = await world.key(owner, ["system:write", "system:read", "policy:read"]);
  const mine = { url: "https://mine.example.com/", events: ["policy_created"] };
  eq((await patch(world, key.value, hook.id, mine)).status, 200);
  await world.advance(FIRST_RETRY_MS + 1_000);
  const here = { token: key.value };
  const over = await newest(world, owner, hook.id);
  deq([over.status, over.error, over.final, over.attempt], ["failed", "not_allowed", true, 1]);
  await act(world, here, hook.id, `deliveries/${over.id}/resend`);
  await world.settle();
  await act(world, here, hook.id, "recover", { since: "2029-01-01T00:00:00.000Z" });
  await world.settle();
  await act(world, here, hook.id, "disable");
  await act(world, here, hook.id, "enable");
  await world.advance(3_600_000);
  deq(world.network.sent.map(({ url }) => url), [hook.url]);
  // A person who may read it subscribes again, and gets it.
  const token = await signIn(world, owner);
  eq((await patch(world, token, hook.id, { events: hook.events })).status, 200);
  await act(world, { token }, hook.id, `deliveries/${over.id}/resend`);
  await world.settle();
  deq((await newest(world, { ...owner, token }, hook.id)).status, "succeeded");
});

Deno.test("secret: for 24 h after a change the old one signs too, in a header of its own", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await makeHook(world, owner, ["agent_created"]);
  const before = await ping(world, owner, hook.id);
  eq(before.headers["X-Service-Signature-Previous"], undefined);
  const changed = await patch(world, owner.token, hook.id, { secret: NEW });
  eq(changed.body.previous_secret_ends_at, "2030-01-02T00:00:00.000Z");
  ok(!changed.text.includes(NEW) && !changed.text.includes(OLD));
  world.clock.advance(24 * HOUR_MS - 1);
  const token = await signIn(world, owner);
  const inGrace = await ping(world, { token }, hook.id);
  eq(inGrace.headers["X-Service-Signature"], hmac(NEW, inGrace.body));
  eq(inGrace.headers["X-Service-Signature-Previous"], hmac(OLD, inGrace.body));
  const at = new Date(Number(inGrace.headers["webhook-timestamp"]) * 1000);
  const signatures = [NEW, OLD].map((secret) =>
    new Webhook(secret, { format: "raw" })
      .sign(inGrace.headers["webhook-id"]!, at, String(inGrace.body))
  );
  eq(inGrace.headers["webhook-signature"], signatures.join(" "));
  world.clock.advance(1);
  const after = await ping(world, { token }, hook.id);
  eq(after.headers["X-Service-Signature"], hmac(NEW, after.body));
  eq(after.headers["X-Service-Signature-Previous"], undefined);
  eq(after.headers["webhook-signature"]!.split(" ").length, 1);
  const shown = await world.call("GET", `${PATH}/${hook.id}`, { as: token });
  eq(shown.body.previous_secret_ends_at, null);
});

Deno.test("secret: setting the same one changes nothing, and a second change drops the first", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await makeHook(world, owner, ["agent_created"]);
  const same = await patch(world, owner.token, hook.id, { secret: OLD });
  eq(same.body.previous_secret_ends_at, null);
  await patch(world, owner.token, hook.id, { secret: NEW });
  await patch(world, owner.token, hook.id, { secret: "a third secret" });
  const { headers, body } = await ping(world, owner, hook.id);
  eq(headers["X-Service-Signature"], hmac("a third secret", body));
  eq(headers["X-Service-Signature-Previous"], hmac(NEW, body));
});
