import type { ShieldLayer } from "../../core/client/client.ts";

/** The layers of the shield, in words. */
export const LAYERS: Readonly<Record<ShieldLayer, string>> = {
  policy: "Policy",
  patterns: "Patterns",
  structure: "Structure",
  behaviour: "Behaviour",
};

/** The layer that a rule is of, by its id. */
export function layerOf(rule: string): ShieldLayer {
  const first = rule.slice(0, Math.max(0, rule.indexOf(".")));
  return Object.hasOwn(LAYERS, first) ? first as ShieldLayer : "patterns";
}
