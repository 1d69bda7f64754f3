import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { resetPassword } from "../../../core/access/sign_in/reset.ts";
import { type Account, World } from "../../support/world.ts";
import { logIn } from "../../access/account_fixtures.ts";
import { approve, link, refused, says, setUp, waiting } from "./approval_fixtures.ts";
import { makeIngestToken } from "../commands/ingest_fixtures.ts";
import { rotate } from "../../access/keys/key_fixtures.ts";

const SETTINGS = "/api/shield/settings";

/** A person who is signed in with a reset password. */
async function afterReset(world: World, who: Account): Promise<Account & { password: string }> {
  const { store, ports } = world.app;
  const { password } = await resetPassword(store, ports, who.email, true);
  const { body } = await logIn(world, who.email, password);
  return { ...who, token: body.token, password };
}

const change = (world: World, { token: as, password }: { token: string; password: string }) =>
  world.call("POST", "/api/account/password", {
    as,
    body: { current_password: password, new_password: "a password of their own" },
  });

Deno.test("approvals: a reset password approves nothing until it is changed", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const colleague = await afterReset(world, here.colleague);
  const pid = await waiting(world, here, here.admin.token);
  await refused(world, here, pid, colleague.token);
  eq((await change(world, colleague)).status, 200);
  const { body } = await approve(world, pid, colleague.token);
  deq([body.status, body.decisions[0].also_of], ["approved", []]);
});

Deno.test("approvals: nobody can approve a request by a reset password", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const colleague = await afterReset(world, here.colleague);
  const pid = await waiting(world, here, colleague.token);
  await refused(world, here, pid, here.admin.token);
  const { body } = await approve(world, pid, here.owner.token);
  eq(body.error.message.startsWith("Anyone may have made this request"), true);
});

Deno.test("approvals: a key or link made by a reset password still counts as everybody's after its change", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const bot = await makeIngestToken(world, here.owner, "telegram");
  const colleague = await afterReset(world, here.colleague);
  const key = await world.key(colleague, ["approvals:write"]);
  await link(world, colleague, bot.token);
  eq((await change(world, colleague)).status, 200);
  const pid = await waiting(world, here, here.admin.token);
  await refused(world, here, pid, key.value);
  const { body: { text } } = await says(world, bot.token, `/approve ${pid}`);
  eq(text.startsWith("The requester may hold"), true, text);
  const { body: { new_key } } = await rotate(world, key.id, colleague.token, 0);
  eq((await approve(world, pid, new_key)).body.status, "approved");
});

Deno.test("self-approval: a reset password neither allows nor confirms it", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const body = { approvals: { self_approval: true } };
  const turn = (as: string) => world.call("PATCH", SETTINGS, { as, body });
  const { body: { pending_self_approval: { id } } } = await turn(here.admin.token);
  const colleague = await afterReset(world, here.colleague);
  const confirm = () =>
    world.call("POST", "/api/shield/self-approval/confirm", { as: colleague.token, body: { id } });
  eq((await confirm()).status, 403);
  const other = await afterReset(world, here.owner);
  eq((await turn(other.token)).status, 403);
  const { body: settings } = await world.call("GET", SETTINGS, { as: here.admin.token });
  deq([settings.approvals.self_approval, settings.pending_self_approval.id], [false, id]);
  eq((await change(world, colleague)).status, 200);
  eq((await confirm()).body.approvals.self_approval, true);
});
