import { strictEqual as eq } from "node:assert/strict";
import { ScriptedAgent } from "../../support/agent.ts";
import { AGENT_RIGHTS, finish, runsOf } from "../../support/linked_agent.ts";
import type { Account, Answer, World } from "../../support/world.ts";

interface Fleet {
  readonly owner: Account;
  /** The key that the agents registered with. */
  readonly key: string;
  readonly agents: readonly ScriptedAgent[];
}

/** An organization with so many agents: `web-01`, `web-02`, … */
export async function makeFleet(world: World, count: number): Promise<Fleet> {
  const owner = await world.signUp();
  const key = await world.key(owner, AGENT_RIGHTS);
  const agents: ScriptedAgent[] = [];
  for (let n = 1; n <= count; n++) {
    const name = `web-${String(n).padStart(2, "0")}`;
    const labels = { env: n % 2 === 0 ? "test" : "staging" };
    agents.push(await ScriptedAgent.connect(world, key.value, { name, labels }));
  }
  return { owner, key: key.value, agents };
}

export async function start(
  world: World,
  { token }: Pick<Account, "token">,
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const answer = await world.call("POST", "/api/v1/commands", {
    as: token,
    body: { command: "uptime", ...body },
    headers,
  });
  await world.settle();
  return answer;
}

export const show = async (
  world: World,
  { token }: Pick<Account, "token">,
  id: string,
  query = "",
) => (await world.call("GET", `/api/v1/commands/${id}${query}`, { as: token })).body;

/** The counts that are not 0. */
export async function countsOf(world: World, account: Account, id: string) {
  const { counts, total } = await show(world, account, id);
  const some = Object.entries<number>(counts).filter(([, n]) => n > 0);
  eq(some.reduce((sum, [, n]) => sum + n, 0), total);
  return Object.fromEntries(some);
}

export const silent = (agents: readonly ScriptedAgent[]) =>
  agents.forEach((agent) => agent.script = () => "silent");

/** Ends the running commands of an agent. */
export const finishAll = (agent: ScriptedAgent, exit_code = 0) =>
  runsOf(agent).forEach(({ command_id }) => finish(agent, command_id, { exit_code }));

export const sent = (agents: readonly ScriptedAgent[]) =>
  agents.map((agent) => runsOf(agent).length);
