import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { World } from "../../support/world.ts";
import { exec, linkAgent } from "../../support/linked_agent.ts";
import { makeIngestToken } from "../../agents/commands/ingest_fixtures.ts";
import { setUser } from "../../access/keys/key_fixtures.ts";

const BOB = 5_123_456_789;
const TOKENS = "/api/v1/ingest-tokens";

Deno.test("telegram: only a person who may approve can set up a bot", async () => {
  await using world = await World.open();
  await world.signUp(); // the host, whose custom roles change nothing
  const owner = await world.signUp();
  const permissions = ["system:read", "system:write"];
  const role = { name: "clerk", permissions };
  await world.call("POST", "/api/v1/roles", { as: owner.token, body: role });
  const clerk = await world.join(owner, ["clerk"]);
  const ofOwner = await world.key(owner, permissions);
  for (const as of [clerk.token, ofOwner.value]) {
    const body = { name: "bot", purpose: "telegram" };
    const { status, body: { error } } = await world.call("POST", TOKENS, { as, body });
    deq([status, error.details.required], [403, ["approvals:write"]]);
    const alerts = { ...body, purpose: "generic" };
    eq((await world.call("POST", TOKENS, { as, body: alerts })).status, 201);
  }
});

Deno.test("telegram: a bot decides nothing once its creator may no longer approve", async () => {
  await using world = await World.open();
  await world.signUp(); // the host, whose admins make no tokens
  const here = await linkAgent(world);
  const maker = await world.join(here.owner, ["admin"]);
  const bob = await world.join(here.owner, ["operator"]);
  const bot = await makeIngestToken(world, maker, "telegram");
  const tell = async (message: string) => {
    const { body } = await world.call("POST", "/api/tg/webhook", {
      body: { chat_id: BOB, message },
      headers: { "x-telegram-bot-api-secret-token": bot.token },
    });
    return body.text as string;
  };
  const link = await world.call("POST", "/api/shield/telegram-links", { as: bob.token });
  await tell(link.body.message);
  const { body: { approval_id: pid } } = await exec(world, here, "systemctl stop nginx");
  for (const change of [{ roles: ["viewer"] }, { roles: ["admin"], active: false }]) {
    await setUser(world, maker, change);
    for (const verb of ["approve", "reject"]) {
      ok(
        (await tell(`/${verb} ${pid}`)).startsWith(
          "This bot cannot decide requests, because the user who set it up may no longer approve",
        ),
      );
    }
    const path = `/api/shield/approvals/${pid}`;
    const { body } = await world.call("GET", path, { as: here.owner.token });
    deq([body.status, body.decisions], ["pending", []]);
  }
  await setUser(world, maker, { active: true });
  eq(await tell(`/approve ${pid}`), `${pid} is approved.`);
});
