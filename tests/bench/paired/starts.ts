import { endToo } from "../parts.ts";
import { agentKiB } from "../reads.ts";
import { toEnd, toLink, type toReady } from "../start.ts";
import { openRelay } from "../target.ts";
import type { Rate, Run, Side } from "./side.ts";

/** Starts in a second, one after the other, on a store of each side. */
export function starts(start: typeof toReady): Run {
  const folderOf = folders();
  return (side) => perSecond(start(mainOf(side), folderOf(side), ["-A", side.flags]));
}

/** The same of an agent, to the relay of its side. */
export function agentStarts(): Run {
  const folderOf = folders();
  return async (side) => {
    const { base, key } = await side.relay();
    const env = { RELAY_URL: base, RELAY_TOKEN: key };
    return await perSecond(toLink(mainOf(side), folderOf(side), env));
  };
}

/** Runs in a second of the program with these arguments. */
export const runsOf = (...args: readonly string[]): Run => (side) =>
  perSecond(toEnd(["run", "-A", mainOf(side), ...args]));

const perSecond = async (ms: Promise<number>): Promise<Rate> => ({ per: 1000 / await ms });

const mainOf = ({ root }: Side): string => `file://${root}main.ts`;

/** The name of a folder for each side. */
function folders(): (side: Side) => string {
  let all: string | null = null;
  const make = () => {
    const made = Deno.makeTempDirSync({ prefix: "relay-bench-" });
    endToo({ kill: () => Deno.removeSync(made, { recursive: true }) });
    return made;
  };
  return ({ root }) => `${all ??= make()}/${root.replaceAll("/", "-")}`;
}

/** How many agents that have run a command take a MiB of a relay that runs for nothing else. */
export function agentsInMemory(count: number): Run {
  return async ({ root, flags }) => {
    const relay = await openRelay(root, flags);
    try {
      return { per: 1024 / (await agentKiB(relay, count)).used };
    } finally {
      Deno.kill(relay.pid); // its agents end with it
    }
  };
}
