import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { CLOSE_CODES } from "../../core/protocol/protocol.ts";
import { commands } from "../../kv/records/command.ts";
import { newIdentity, ScriptedAgent } from "../support/agent.ts";
import { committing, shared } from "../support/kv.ts";
import { type Account, World } from "../support/world.ts";

const tenantOf = ({ org }: Account) => ({ org, space: "live" } as const);
const RIGHTS = ["agents:admin", "agents:read", "agents:write"];

/** Two instances on one store, each with a clock of its own: one whose clock stands still is frozen. */
async function frozen({ aheadMs = 0 } = {}) {
  const kv = await Deno.openKv(":memory:");
  const replies = { until: Promise.resolve() };
  const waiting = committing(shared(kv), async (commit) => {
    const result = await commit();
    await replies.until;
    return result;
  });
  const one = await World.open({ kv: waiting, sole: false });
  const two = await World.open({ kv: shared(kv), sole: false, seed: 2 });
  two.clock.nowMs += aheadMs;
  const owner = await one.signUp();
  const { value } = await one.key(owner, RIGHTS);
  const identity = newIdentity();
  const agent = await ScriptedAgent.connect(one, value, { identity });
  return {
    one,
    two,
    owner,
    agent,
    value,
    identity,
    /** The replies to the first instance's commits arrive then. */
    holdReplies: (until: Promise<void>) => replies.until = until,
    async [Symbol.asyncDispose]() {
      await one[Symbol.asyncDispose]();
      await two[Symbol.asyncDispose]();
      kv.close();
    },
  };
}

/** Lets an instance renew its presence and look at the others so many times. */
async function beats(world: World, times: number): Promise<void> {
  for (let n = 0; n < times; n++) {
    world.clock.advance(5_000);
    await world.settle();
  }
}

const statusOf = async (world: World, { token }: Account, id: string) =>
  (await world.call("GET", `/api/v1/agents/${id}`, { as: token })).body.status;

Deno.test("presence: 15 s after an instance stopped its agents are offline and its commands lost", async () => {
  await using cluster = await frozen();
  const { two, owner, agent } = cluster;
  agent.script = () => "silent";
  const path = `/api/v1/agents/${agent.id}/commands`;
  const begun = await two.call("POST", path, { as: owner.token, body: { command: "sleep 9" } });
  await agent.until("run");
  const waits = two.call("GET", `/api/exec/${agent.id}?command=sleep`, { as: owner.token });
  while (agent.received.filter(({ type }) => type === "run").length < 2) await two.settle();
  await beats(two, 2);
  eq(await statusOf(two, owner, agent.id), "online");
  await beats(two, 1);
  eq(await statusOf(two, owner, agent.id), "offline");
  const lost = await two.call("GET", `${path}/${begun.body.command_id}`, { as: owner.token });
  eq(lost.body.status, "lost");
  eq((await waits).body.error.code, "COMMAND_LOST");
});

Deno.test("presence: an instance that wakes up after its death closes its links and sends nothing", async () => {
  await using cluster = await frozen();
  const { one, two, owner, agent, value, identity } = cluster;
  await beats(two, 4);
  const answer = await one.call("GET", `/api/exec/${agent.id}?command=uptime`, {
    as: owner.token,
  });
  eq(answer.body.error.code, "AGENT_OFFLINE");
  eq(agent.received.filter(({ type }) => type === "run").length, 0);
  await beats(one, 1);
  eq(agent.closed?.code, CLOSE_CODES.going_away.code);
  const again = await ScriptedAgent.connect(one, value, { identity });
  await beats(two, 1);
  await beats(one, 1);
  eq(await statusOf(two, owner, again.id), "online");
});

Deno.test("presence: an instance that wakes up between recording a command and sending it does not send it", async () => {
  await using cluster = await frozen();
  const { one, two, owner, agent } = cluster;
  const awake = Promise.withResolvers<void>();
  cluster.holdReplies(awake.promise);
  const answer = one.call("GET", `/api/exec/${agent.id}?command=uptime`, { as: owner.token });
  while ((await two.app.store.list(commands, tenantOf(owner), { limit: 1 })).items.length === 0);
  await beats(two, 4);
  one.clock.freeze(20_000);
  awake.resolve();
  const { status, body } = await answer;
  deq([status, body.error.code], [503, "UNAVAILABLE"]);
  eq(agent.received.filter(({ type }) => type === "run").length, 0);
  const path = `/api/v1/agents/${agent.id}/commands/${body.error.details.command_id}`;
  eq((await two.call("GET", path, { as: owner.token })).body.status, "failed");
});

Deno.test("presence: an instance whose row moves stays, whatever its clock says", async () => {
  await using cluster = await frozen({ aheadMs: 300_000 });
  const { one, two, owner, agent } = cluster;
  for (let n = 0; n < 6; n++) {
    await beats(one, 1);
    await beats(two, 1);
  }
  eq(await statusOf(two, owner, agent.id), "online");
  deq(agent.closed, null);
});
