import type { Agent } from "../../../../../core/client/client.ts";

/** Which agents a command is for. */
export type Target =
  | { readonly kind: "agents"; readonly agents: readonly Agent[] }
  | {
    readonly kind: "labels";
    readonly labels: Readonly<Record<string, string>>;
    readonly total: number;
  }
  | { readonly kind: "all"; readonly total: number };

export const NOBODY: Target = { kind: "agents", agents: [] };

/** The number of agents of a target. */
export const sizeOf = (of: Target): number => of.kind === "agents" ? of.agents.length : of.total;

/** The agents that were picked one by one. */
export const pickedOf = (of: Target): readonly Agent[] => of.kind === "agents" ? of.agents : [];

/** A target with one more agent. It replaces labels, because a command takes one or the other. */
export const withAgent = (of: Target, agent: Agent): Target => ({
  kind: "agents",
  agents: [...pickedOf(of).filter(({ id }) => id !== agent.id), agent],
});

/** A target without one of its agents. */
export const withoutAgent = (of: Target, id: string): Target => ({
  kind: "agents",
  agents: pickedOf(of).filter((agent) => agent.id !== id),
});

/** A target without what was picked last. */
export const withoutLast = (of: Target): Target => ({
  kind: "agents",
  agents: pickedOf(of).slice(0, -1),
});

/** Labels as people type them. */
export const labelWords = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels).map(([key, value]) => `${key}=${value}`).join(" ");

/** A target in words. */
export function nameOf(of: Target): string {
  if (of.kind === "all") return `all ${of.total} agents`;
  if (of.kind === "labels") return `${of.total} agents with ${labelWords(of.labels)}`;
  return of.agents.length > 3
    ? `${of.agents.length} agents`
    : of.agents.map(({ name }) => name).join(", ");
}
