import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { CLOSE_CODES } from "../../core/protocol/close_codes.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { type Account, World } from "../support/world.ts";
import { AGENT_RIGHTS, revokeElsewhere } from "../support/linked_agent.ts";
import { setUser } from "../access/keys/key_fixtures.ts";

interface Held {
  readonly host: Account;
  readonly owner: Account;
  readonly maker: Account;
  readonly key: { readonly id: string; readonly value: string };
}

/** Losses of the right to a link after its challenge, which this instance does not notice by itself. */
const LOSSES: Readonly<Record<string, (world: World, held: Held) => Promise<unknown>>> = {
  "its key is revoked elsewhere": (world, { owner, key }) => revokeElsewhere(world, owner, key.id),
  "its key's creator is demoted": (world, { maker }) =>
    setUser(world, maker, { roles: ["viewer"] }),
  "its key's creator is deactivated": (world, { owner: { token: as }, maker }) =>
    world.call("POST", `/api/v1/users/${maker.userId}/deactivate`, { as }),
  "its organization is deactivated": (world, { host: { token: as }, owner }) =>
    world.call("POST", `/api/admin/accounts/${owner.org}/toggle`, { as, body: { active: false } }),
};

for (const [how, lose] of Object.entries(LOSSES)) {
  Deno.test(`link: a hello delayed until ${how} registers no agent`, async () => {
    await using world = await World.open();
    const host = await world.signUp();
    const owner = await world.signUp();
    const maker = await world.join(owner, ["admin"]);
    const key = await world.key(maker, AGENT_RIGHTS, { expires_days: 1 });
    let held: unknown;
    const agent = await ScriptedAgent.open(world, key.value, {
      hello: (hello) => {
        held = hello;
        return null;
      },
    });
    await lose(world, { host, owner, maker, key });
    agent.sendRaw(JSON.stringify(held));
    await world.settle();
    eq(agent.closed?.code, CLOSE_CODES.credential_refused.code);
    deq(agent.received.map(({ type }) => type), ["challenge"]);
    eq(
      await world.app.store.count({ name: "agents", cached: 0 }, { org: owner.org, space: "live" }),
      0,
    );
  });
}
