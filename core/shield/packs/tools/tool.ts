import type { Blast, Examples, Pack } from "../../model.ts";

/** What the verb of a management tool does to the thing that it names. */
export type Harm = "destroy" | "delete" | "disable";

/** A management tool: where its verb stands, and how much hangs on it. */
export interface Tool {
  readonly names: readonly string[];
  readonly pack: Pack;
  /** How many words from the start may be the verb. */
  readonly depth: number;
  readonly blast: Blast;
  /** Mild verbs that do harm with this tool. */
  readonly also?: readonly string[];
  /** Harmful verbs that are daily work with this tool, or `noun verb` pairs. */
  readonly except?: readonly string[];
  /** How many words stand before the first that may be the verb: the service of `aws logs …`. */
  readonly skip?: number;
  /** Options before the verb whose value is the next word. */
  readonly valued?: readonly string[];
  /** Examples of each of its rules. */
  readonly hits: Readonly<Record<Harm, Examples>>;
  readonly misses: Examples;
}

/** Options of management tools whose value is the next word. */
export const TOOL_VALUED = [
  "--profile",
  "--region",
  "--output",
  "--query",
  "--endpoint-url",
  "--project",
  "--account",
  "--format",
  "-o",
  "--subscription",
  "--resource-group",
  "-g",
  "--zone",
  "--org",
  "-p",
  "-c",
  "-a",
  "--app",
  "--context",
  "--server",
  "-n",
  "--namespace",
  "--kubeconfig",
  "--kube-context",
  "-s",
  "-u",
  "-H",
  "--host",
  "--config",
  "-f",
  "--cluster",
  "--team",
  "--token",
];
