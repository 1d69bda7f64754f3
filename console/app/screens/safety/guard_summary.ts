import { type Agent, call, type Guard, RelayError } from "../../api.ts";
import { Badge } from "../../components/badge.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { addressOf } from "../../router.ts";
import { may } from "../../session.ts";

/** An agent and how it is guarded. */
export interface Guarded {
  readonly agent: Agent;
  readonly guard: Guard;
}

/** Each guard is read by a call of its own, which asks the agent, so a page of them is small. */
const GUARDS = 20;

/** The guards of a page of agents. An agent that was deleted meanwhile is left out. */
export async function readGuards(
  offset: number,
  signal: AbortSignal,
  status?: "online",
): Promise<
  { readonly guarded: readonly Guarded[]; readonly total: number; readonly next: number | null }
> {
  const { agents, pagination } = await call("agents.list", {
    query: { limit: GUARDS, offset, ...status && { status } },
    signal,
  });
  const guards = await Promise.all(
    agents.map(({ id }) =>
      call("gitops.guard", { params: { agent_id: id }, signal }).catch(noneIfDeleted)
    ),
  );
  const guarded = guards.flatMap((guard, n) =>
    guard === null ? [] : [{ agent: agents[n]!, guard }]
  );
  const next = pagination.has_more ? offset + agents.length : null;
  return { guarded, total: pagination.total, next };
}

function noneIfDeleted(error: unknown): null {
  if (error instanceof RelayError && error.status === 404) return null;
  throw error;
}

/** How an agent stands with its policies, in words. */
export function holdingOf({ policy }: Guard): keyof typeof HOLDING_TONES {
  if (!policy.in_sync) return "pending";
  return policy.reported === null || policy.reported === policy.applied ? "in sync" : "drifted";
}

export const HOLDING_TONES = { "in sync": "good", pending: "warn", drifted: "bad" } as const;

/** How many of the connected agents hold the policies that apply to them. */
export function GuardSummary() {
  const { data } = useData(
    async (signal) => may("agents:read") ? await readGuards(0, signal, "online") : null,
    [],
    { types: ["policy", "agent"], everyMs: 15_000 },
  );
  if (data === null || data.guarded.length === 0) return null;
  const { guarded, total } = data;
  const held = guarded.filter(({ guard }) => holdingOf(guard) === "in sync").length;
  const isWhole = held === guarded.length;
  return html`
    <p>
      <${Badge} state=${isWhole ? "in sync" : "drift"} tone=${isWhole ? "good" : "bad"} />${" "}
      ${held} of ${total > guarded.length
        ? `the first ${guarded.length}`
        : guarded.length} connected
      agents hold the policies that apply to them.${" "}
      <a href=${addressOf("/policies/agents")}>Show the agents</a>
    </p>
  `;
}
