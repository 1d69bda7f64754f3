import { type AgentStatus, call } from "../../../api.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";
import { addressOf } from "../../../router.ts";
import { Card } from "./card.ts";

const STATES: readonly AgentStatus[] = ["online", "degraded", "offline"];
const TONES = { online: "good", degraded: "warn", offline: "bad" } as const;

/** The number of agents in each state. */
export function AgentsCard() {
  const counts = useData(
    (signal) =>
      Promise.all(STATES.map(async (status) => {
        const query = { status, limit: 1 };
        const { pagination } = await call("agents.list", { query, signal });
        return { status, total: pagination.total };
      })),
    [],
    { types: ["agent"] },
  );
  return html`
    <${Card} title="Agents" to="/agents" data=${counts}>${(
      all: readonly { readonly status: AgentStatus; readonly total: number }[],
    ) =>
      html`
        <ul class="figures">
          ${all.map(({ status, total }) =>
            html`
              <li class=${total === 0 ? "soft" : ""}>
                <a href=${addressOf("/agents", { status })}>
                  <strong class=${total === 0 ? "" : TONES[status]}>${total}</strong> ${status}
                </a>
              </li>
            `
          )}
        </ul>
      `}<//>
  `;
}
