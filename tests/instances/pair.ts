import { shared } from "../support/kv.ts";
import { newIdentity, ScriptedAgent } from "../support/agent.ts";
import { World } from "../support/world.ts";

const RIGHTS = ["agents:admin", "agents:read", "agents:write", "audit:read"];

/**
 * Two instances on one store, and an agent that is linked to the first. With a clock of its own, an instance whose clock
 * stands still is frozen.
 */
export async function pair({ ownClocks = false } = {}) {
  const kv = await Deno.openKv(":memory:");
  const one = await World.open({ kv: shared(kv), sole: false });
  const two = await World.open({
    kv: shared(kv),
    sole: false,
    ...(!ownClocks && { clock: one.clock }),
    seed: 2,
  });
  const owner = await one.signUp();
  const { value, id: keyId } = await one.key(owner, RIGHTS);
  const identity = newIdentity();
  const agent = await ScriptedAgent.connect(one, value, { identity });
  await one.settle();
  return {
    one,
    two,
    owner,
    value,
    keyId,
    identity,
    agent,
    async [Symbol.asyncDispose]() {
      await two[Symbol.asyncDispose]();
      await one[Symbol.asyncDispose]();
      kv.close();
    },
  };
}
