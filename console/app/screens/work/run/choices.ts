import { type Agent, call } from "../../../api.ts";
import { onOneLine } from "../../../components/visible_text.ts";
import { labelWords, pickedOf, type Target, withAgent } from "./target.ts";

/** Something that can be picked. */
export interface Choice {
  readonly words: string;
  readonly about: string;
  readonly agent: Agent | null;
  /** The target after it was picked. */
  readonly picked: (now: Target) => Target;
}

/** The agents and labels that match a text. */
export interface Found {
  readonly text: string;
  readonly agents: readonly Agent[];
  readonly labels: readonly { readonly label: string; readonly total: number }[];
  /** All agents; null when the text asks for some. */
  readonly total: number | null;
}

const AGENTS_READ = 200;
const AGENTS_SHOWN = 8;
const LABELS_SHOWN = 4;

/** Finds agents by a part of their name, and labels by a part of `key=value`. */
export async function find(text: string, signal: AbortSignal): Promise<Found> {
  const isLabel = text.includes("=");
  const { agents, pagination } = await call("agents.list", {
    query: { limit: AGENTS_READ, ...!isLabel && text !== "" && { text } },
    signal,
  });
  return {
    text,
    agents: isLabel ? [] : agents,
    labels: await labelsOf(text, agents, signal),
    total: text === "" ? pagination.total : null,
  };
}

/** The labels that a text is a part of, each with the number of its agents. */
async function labelsOf(
  text: string,
  agents: readonly Agent[],
  signal: AbortSignal,
): Promise<Found["labels"]> {
  const known = agents.flatMap(({ labels }) =>
    Object.entries(labels).map(([key, value]) => `${key}=${value}`)
  );
  const typed = /^[^=\s]+=.+$/.test(text) ? [text] : [];
  const wanted = [...new Set([...typed, ...known.filter((one) => one.includes(text))])];
  const counted = await Promise.all(
    wanted.slice(0, LABELS_SHOWN).map(async (label) => {
      const { pagination } = await call("agents.list", { query: { label, limit: 1 }, signal });
      return { label, total: pagination.total };
    }),
  );
  return counted.filter(({ total }) => total > 0);
}

/** What can be picked of what was found, beside what is picked already. */
export function choicesOf({ agents, labels, total }: Found, now: Target): readonly Choice[] {
  const others = agents.filter(({ id }) => !pickedOf(now).some((agent) => agent.id === id));
  return [
    ...labels.map(labelChoice),
    ...total !== null && total > 1
      ? [{
        words: "All agents",
        about: `${total}`,
        agent: null,
        picked: () => ({ kind: "all", total } as const),
      }]
      : [],
    ...others.slice(0, AGENTS_SHOWN).map((agent) => ({
      words: onOneLine(agent.name),
      about: onOneLine(labelWords(agent.labels)),
      agent,
      picked: (now: Target) => withAgent(now, agent),
    })),
  ];
}

function labelChoice({ label, total }: Found["labels"][number]): Choice {
  const cut = label.indexOf("=");
  const labels = { [label.slice(0, cut)]: label.slice(cut + 1) };
  return {
    words: onOneLine(label),
    about: `${total} ${total === 1 ? "agent" : "agents"}`,
    agent: null,
    picked: () => ({ kind: "labels", labels, total }),
  };
}
