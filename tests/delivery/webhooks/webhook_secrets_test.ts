import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { webhooks } from "../../../kv/records/webhook.ts";
import { World } from "../../support/world.ts";
import { makeHook } from "../../support/linked_agent.ts";

const PATH = "/api/v1/webhooks";
const HEADERS = { Authorization: "Bearer very-secret", "X-Team": "ops" };
const MASKED = { Authorization: "********", "X-Team": "********" };
/** All scopes for managing webhooks except `secrets:read`. */
const MANAGES = ["system:read", "system:write", "agents:read"];

Deno.test("webhooks: no answer shows the value of a custom header without secrets:read", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await makeHook(world, owner, ["agent_created"], { headers: HEADERS });
  const { value: as } = await world.key(owner, MANAGES);
  const answers = [
    await world.call("GET", PATH, { as }),
    await world.call("GET", `${PATH}/${hook.id}`, { as }),
    await world.call("PATCH", `${PATH}/${hook.id}`, { as, body: { name: "renamed" } }),
    await world.call("POST", `${PATH}/${hook.id}/disable`, { as }),
    await world.call("POST", `${PATH}/${hook.id}/disable`, { as }),
    await world.call("POST", `${PATH}/${hook.id}/enable`, { as }),
    await world.call("POST", `${PATH}/${hook.id}/enable`, { as }),
    await world.call("POST", PATH, {
      as,
      body: { name: "b", url: hook.url, events: hook.events, headers: HEADERS },
    }),
  ];
  for (const { status, text, body } of answers) {
    ok(status === 200 || status === 201, text);
    ok(!text.includes("very-secret"), text);
    deq((body.webhooks?.[0] ?? body).custom_headers, MASKED);
  }
  const { value: reader } = await world.key(owner, ["system:read", "secrets:read"]);
  const read = await world.call("GET", `${PATH}/${hook.id}`, { as: reader });
  deq(read.body.custom_headers, HEADERS);
});

Deno.test("webhooks.update: refuses to send stored header values to another URL without secrets:read", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await makeHook(world, owner, ["agent_created"], { headers: HEADERS });
  const { value: as } = await world.key(owner, MANAGES);
  const path = `${PATH}/${hook.id}`;
  const url = "https://other.example.com/y";
  const tenant = { org: owner.org, space: "live" } as const;
  const stored = () => world.app.store.get(webhooks, tenant, hook.id);
  const before = await stored();
  const refused = await world.call("PATCH", path, { as, body: { url } });
  deq([refused.status, refused.body.error.code], [403, "INSUFFICIENT_SCOPES"]);
  deq(refused.body.error.details.required, ["secrets:read"]);
  deq(await stored(), before);
  const headers = { Authorization: "Bearer another", "X-Team": "dev" };
  eq((await world.call("PATCH", path, { as, body: { url, headers } })).status, 200);
  eq((await world.call("PATCH", path, { as: owner.token, body: { url: hook.url } })).status, 200);
});
