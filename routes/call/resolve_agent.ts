import { agentIdOf } from "../../core/agents/agents.ts";
import type { Actor } from "../../core/identity/identity.ts";
import type { Context } from "../../core/context/context.ts";

/** Checked input, before the rule gets it. */
interface Checked {
  params: unknown;
  body: unknown;
}

/**
 * Puts the agent's id in place of its name, so that rules, rights and records see ids only. Only agents of the
 * caller's space are found. Returns the id; null when the input names no agent.
 */
export async function resolveAgent(
  { store }: Pick<Context, "store">,
  { tenant }: Actor,
  field: string,
  input: Checked,
): Promise<string | null> {
  for (const part of ["params", "body"] as const) {
    const fields = input[part] as Readonly<Record<string, unknown>> | undefined;
    const text = fields?.[field];
    if (typeof text !== "string") continue;
    const id = await agentIdOf(store, tenant, text);
    if (id !== text) input[part] = { ...fields, [field]: id };
    return id;
  }
  return null;
}
