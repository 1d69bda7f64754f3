import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { users } from "../../kv/records/user.ts";
import { countKey } from "../../kv/store/collection.ts";
import { logIn } from "../access/account_fixtures.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { shared, strictKv } from "../support/kv.ts";
import { AGENT_RIGHTS, exec, type Linked, runsOf } from "../support/linked_agent.ts";
import { World } from "../support/world.ts";

const CONFIRMED = { confirm_self_approval: true };

/** Two instances on one database server, and an organization whose only member has a command that waits. */
async function alone() {
  const kv = await Deno.openKv(":memory:");
  const open = (more: Parameters<typeof World.open>[0]) =>
    World.open({ kv: strictKv(shared(kv)), sole: false, ...more });
  const one = await open({});
  const two = await open({ clock: one.clock, seed: 2 });
  await one.signUp();
  const owner = await one.signUp();
  const { value, id } = await one.key(owner, AGENT_RIGHTS);
  const agent = await ScriptedAgent.connect(one, value);
  await one.settle();
  const here: Linked = { owner, key: { value, id }, agent };
  const asked = await exec(one, here, "systemctl stop nginx", { as: value });
  one.clock.nowMs += 1;
  const password = `password ${/\d+/.exec(owner.email)}`;
  const { body: { token } } = await logIn(one, owner.email, password);
  const { body: { invite_code } } = await two.call("POST", "/api/v1/invitations", {
    as: token,
    body: { roles: ["admin"] },
  });
  return {
    one,
    two,
    owner,
    agent,
    token,
    pid: asked.body.approval_id,
    /** A second person accepts the invitation at the second instance. */
    join: async () => {
      const body = { email: "second@example.com", password: "password of another", invite_code };
      const { status, text } = await two.call("POST", "/api/v1/signup", { body });
      eq(status, 201, text);
    },
    async [Symbol.asyncDispose]() {
      await two[Symbol.asyncDispose]();
      await one[Symbol.asyncDispose]();
      kv.close();
    },
  };
}

const approve = (world: World, pid: string, as: string, headers = {}) =>
  world.call("POST", `/api/shield/approve/${pid}`, { as, body: CONFIRMED, headers });

/** Runs a task once, after the count of an organization's people was next read at a world. */
function afterCount({ app: { store } }: World, org: string, task: () => Promise<unknown>): void {
  const raw = store.raw.bind(store);
  const counted = JSON.stringify(countKey(users, { org, space: "live" }));
  store.raw = async (key) => {
    const entry = await raw(key);
    if (JSON.stringify(key) !== counted) return entry;
    store.raw = raw;
    await task();
    return entry;
  };
}

Deno.test("instances: a self-approval fits a database server that takes ten checks", async () => {
  await using here = await alone();
  const { one, pid, token, agent } = here;
  const once = { "idempotency-key": "approve-once" };
  const { status, body, text } = await approve(one, pid, token, once);
  deq([status, body.status], [200, "approved"], text);
  await one.settle();
  eq(runsOf(agent).length, 1);
});

Deno.test("instances: of a self-approval and a second member who joins meanwhile elsewhere, the member wins", async () => {
  await using here = await alone();
  const { one, two, owner, pid, token, agent } = here;
  let joined = false;
  afterCount(one, owner.org, async () => {
    await here.join();
    joined = true;
  });
  const { status, body } = await approve(one, pid, token);
  ok(joined, "nobody joined during the approval");
  deq([status, body.error.code, body.error.details.next], [403, "FORBIDDEN", undefined]);
  await one.settle();
  const read = await two.call("GET", `/api/shield/approvals/${pid}`, { as: token });
  deq([read.body.status, read.body.decisions, runsOf(agent)], ["pending", [], []]);
  eq((await one.trail(owner)).includes("self_approval_given"), false);
});

Deno.test("instances: a second member who joined elsewhere is known at the next self-approval", async () => {
  await using here = await alone();
  await here.join();
  const { status, body } = await approve(here.one, here.pid, here.token);
  deq([status, body.error.code], [403, "FORBIDDEN"]);
});
