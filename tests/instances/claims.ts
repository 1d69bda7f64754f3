import { type CommandRecord, commands } from "../../kv/records/command.ts";
import { StoreUnavailableError } from "../../kv/engine/errors.ts";
import type { ManualClock } from "../support/clock.ts";
import { overKv } from "../support/kv.ts";
import type { World } from "../support/world.ts";
import { pair } from "./pair.ts";

type Commit = Deno.AtomicOperation["commit"];

/** What happens at the next commit that records a command as running, instead of only the commit. */
type AtClaim = (commit: Commit) => ReturnType<Commit>;

const isClaim = (key: Deno.KvKey, value: unknown) =>
  key[2] === commands.name && (value as CommandRecord).status === "running";

/** Two instances. The test decides what the commits do with which the agent's instance claims commands. */
export async function claimingPair(clock?: ManualClock) {
  let next: AtClaim | null = null;
  const cluster = await pair({
    ...(clock && { clock }),
    see: (kv) =>
      overKv(kv, {
        atomic: () => {
          const op = kv.atomic();
          const set = op.set.bind(op), commit = op.commit.bind(op);
          let claims = false;
          op.set = (key, value, options) => {
            claims ||= isClaim(key, value);
            return set(key, value, options);
          };
          op.commit = () => {
            const then = claims ? next : null;
            if (then !== null) next = null;
            return then === null ? commit() : then(commit);
          };
          return op;
        },
      }),
  });
  const { one, two, owner, agent } = cluster;
  const live = { org: owner.org, space: "live" } as const;
  return {
    ...cluster,
    live,
    atClaim: (then: AtClaim) => next = then,
    /** Asks an instance for a command; the answer comes later. */
    exec: (world: World) =>
      world.call("GET", `/api/exec/${agent.id}?command=uptime`, { as: owner.token }),
    /** The only command. */
    async row(): Promise<CommandRecord> {
      const { items } = await two.app.store.list(commands, live, { limit: 2 });
      if (items.length !== 1) throw new Error(`there are ${items.length} commands`);
      return items[0]!;
    },
    /** Lets both instances do what they have begun. */
    async rest() {
      await one.settle();
      await two.settle();
    },
  };
}

/** What a claim fails with whose reply does not come. */
export const lost = () => new Error("connection reset before the reply came");

/** Makes the next transaction of an instance fail. */
export function failNext({ app: { store } }: World): void {
  const transact = store.transact;
  store.transact = () => {
    store.transact = transact;
    return Promise.reject(new StoreUnavailableError());
  };
}
