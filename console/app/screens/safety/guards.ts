import { Badge } from "../../components/badge.ts";
import { Empty } from "../../components/states.ts";
import { type Column, Table } from "../../components/table.ts";
import { Time } from "../../components/time.ts";
import { onOneLine } from "../../components/visible_text.ts";
import { html } from "htm/preact";
import { usePages } from "../../pages.ts";
import { addressOf } from "../../router.ts";
import { type Guarded, HOLDING_TONES, holdingOf, readGuards } from "./guard_summary.ts";
import { PolicyTabs } from "./policy_tabs.ts";

const COLUMNS: readonly Column<Guarded>[] = [
  {
    title: "Agent",
    width: "minmax(9rem, 2fr)",
    cell: ({ agent: { id, name } }) =>
      html`<a href=${addressOf(`/policies/agents/${id}`)}>${onOneLine(name)}</a>`,
  },
  {
    title: "State",
    width: "7rem",
    wideOnly: true,
    cell: ({ agent }) => html`<${Badge} state=${agent.status} />`,
  },
  {
    title: "Policies",
    width: "8rem",
    cell: ({ guard }) =>
      html`<${Badge} state=${holdingOf(guard)} tone=${HOLDING_TONES[holdingOf(guard)]} />`,
  },
  {
    title: "Mode",
    width: "7rem",
    cell: ({ guard: { mode } }) =>
      html`<${Badge} state=${mode} tone=${mode === "enforce" ? "good" : "warn"} />`,
  },
  {
    title: "Verdicts",
    width: "8rem",
    wideOnly: true,
    cell: ({ guard: { verdict_check: { state } } }) =>
      html`<${Badge} state=${state} tone=${
        ({ verifying: "good", refusing: "bad", unknown: "quiet" } as const)[state]
      } />`,
  },
  {
    title: "Canary",
    width: "9rem",
    wideOnly: true,
    cell: ({ guard: { last_canary } }) =>
      last_canary === null ? "" : html`
        <${Badge} state=${last_canary.status}
          tone=${last_canary.failed.length === 0 ? "good" : "bad"} />${" "}
        <${Time} at=${last_canary.at} />
      `,
  },
];

/** Each guard asks its agent, so a change reads them again at most this often. */
const LIVE_MS = 5_000;

/** How the shield guards each agent. */
export default function Guards() {
  const list = usePages(
    async (from, signal) => {
      const { guarded, next } = await readGuards(Number(from ?? 0), signal);
      return { rows: guarded, next: next === null ? null : `${next}` };
    },
    [],
    { types: ["policy", "agent"], everyMs: LIVE_MS },
  );
  return html`
    <div class="title">
      <h1>Guard of the agents</h1>
    </div>
    <${PolicyTabs} />
    <${Table}
      label="Agents and their guard" list=${list} columns=${COLUMNS}
      keyOf=${({ agent }: Guarded) => agent.id}
      opens=${({ agent }: Guarded) => `/policies/agents/${agent.id}`}
      empty=${html`<${Empty} title="No agents" command="relay pair" />`}
    />
  `;
}
