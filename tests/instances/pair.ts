import type { Tracing } from "../../kv/store/trace.ts";
import { openMemoryStore } from "../cluster/shared_store.ts";
import { newIdentity, ScriptedAgent } from "../support/agent.ts";
import type { ManualClock } from "../support/clock.ts";
import { World } from "../support/world.ts";

const RIGHTS = ["agents:admin", "agents:read", "agents:write", "audit:read"];

interface Options {
  /** Changes how the first instance sees the store. */
  readonly see?: (kv: Deno.Kv) => Deno.Kv;
  /** The second one's clock, if it is not the first one's. */
  readonly clock?: ManualClock;
  /** The traces of both. */
  readonly tracing?: Tracing;
}

/** Two instances on one store, and an agent that is linked to the first. */
export async function pair({ see = (kv) => kv, clock, tracing }: Options = {}) {
  const { opened: kv } = openMemoryStore();
  const traced = tracing === undefined ? {} : { tracing };
  const one = await World.open({ kv: see(kv), sole: false, ...traced });
  const two = await World.open({
    kv,
    sole: false,
    clock: clock ?? one.clock,
    seed: 2,
    ...traced,
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
    },
  };
}
