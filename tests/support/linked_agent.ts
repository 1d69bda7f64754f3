import { strictEqual as eq } from "node:assert/strict";
import { apiKeys } from "../../kv/records/api_key.ts";
import { ScriptedAgent } from "./agent.ts";
import type { CommandOrder, CommandResult } from "../../core/protocol/protocol.ts";
import { type Account, type Answer, World } from "./world.ts";

/** An organization with a key of all rights for agents, and one linked agent. */
export interface Linked {
  readonly owner: Account;
  readonly key: { readonly id: string; readonly value: string };
  readonly agent: ScriptedAgent;
}

export const AGENT_RIGHTS = ["agents:admin", "agents:read", "agents:write"];

export async function linkAgent(world: World): Promise<Linked> {
  const owner = await world.signUp();
  const key = await world.key(owner, AGENT_RIGHTS);
  return { owner, key, agent: await ScriptedAgent.connect(world, key.value) };
}

interface Exec {
  readonly as?: string;
  readonly timeout?: number;
  readonly idempotencyKey?: string;
  readonly headers?: Record<string, string>;
}

/** Revokes a key as another instance would: this instance is not notified. */
export async function revokeElsewhere(world: World, { org }: Account, id: string): Promise<void> {
  const tenant = { org, space: "live" } as const;
  await world.app.store.transact(async (tx) => {
    const key = (await tx.get(apiKeys, tenant, id))!;
    tx.put(apiKeys, tenant, { ...key, revoked_at_ms: world.clock.now() });
  });
}

/** Runs a command on an agent through GET /api/exec. */
export function exec(
  world: World,
  { owner, agent }: Pick<Linked, "owner" | "agent">,
  command: string,
  { as = owner.token, timeout, idempotencyKey, headers = {} }: Exec = {},
): Promise<Answer> {
  const query = new URLSearchParams({ command, ...(timeout && { timeout: `${timeout}` }) });
  return world.call("GET", `/api/exec/${agent.id}?${query}`, {
    as,
    headers: { ...headers, ...(idempotencyKey && { "idempotency-key": idempotencyKey }) },
  });
}

/** The commands that an agent was sent. */
export const runsOf = (agent: ScriptedAgent): CommandOrder[] =>
  agent.received.flatMap((frame) => frame.type === "run" ? frame.commands : []);

/** Breaks the link while a command runs, so that the command is lost, and reconnects the agent. */
export async function comeBack(world: World, here: Linked) {
  const asked = exec(world, here, "make");
  await world.settle();
  const { command_id } = runsOf(here.agent)[0]!;
  here.agent.drop();
  eq((await asked).status, 502);
  const { identity } = here.agent;
  const again = await ScriptedAgent.connect(world, here.key.value, { identity });
  return { again, command_id };
}

/** Ends a command as its agent does. */
export function finish(agent: ScriptedAgent, id: string, more: Partial<CommandResult> = {}): void {
  agent.finish({ command_id: id, ...more });
}

/** The events of a resource, oldest first. */
export async function eventsOf(
  world: World,
  { token }: Account,
  id: string,
): Promise<{ event_type: string; actor: string; details: Record<string, unknown> }[]> {
  await world.settle();
  const { body } = await world.call("GET", `/api/audit?resource_id=${id}`, { as: token });
  return body.events.reverse();
}

const HOOK = { name: "hook", url: "https://hooks.example.com/x", secret: "sixteen characters" };

/** Makes a webhook; returns the body. */
export async function makeHook(
  world: World,
  { token }: Account,
  events: readonly string[],
  more: Record<string, unknown> = {},
  // deno-lint-ignore no-explicit-any -- tests look into bodies of every shape
): Promise<any> {
  const body = { ...HOOK, events, ...more };
  const answer = await world.call("POST", "/api/v1/webhooks", { as: token, body });
  if (answer.status !== 201) throw new Error(`webhook creation answered ${answer.text}`);
  return answer.body;
}

/** The deliveries of a webhook, newest first. */
export async function deliveriesOf(world: World, { token }: Account, id: string, query = "") {
  await world.settle();
  return (await world.call("GET", `/api/v1/webhooks/${id}/deliveries${query}`, { as: token })).body;
}
