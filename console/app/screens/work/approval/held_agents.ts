import { call } from "../../../api.ts";
import { Badge } from "../../../components/badge.ts";
import { Failure, Loading } from "../../../components/states.ts";
import { onOneLine } from "../../../components/visible_text.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";
import { addressOf } from "../../../router.ts";

const PAGE = 200;
/** A fleet command reaches at most so many agents. */
const PAGES_MAX = 5;

/** The agents of a fleet command whose commands one request covers, each with the state of its command. */
export function HeldAgents({ fleetId, pid }: { readonly fleetId: string; readonly pid: string }) {
  const { data, error, again } = useData(
    async (signal) => {
      const held = [];
      let cursor: string | undefined;
      for (let n = 0; n < PAGES_MAX; n++) {
        const page = await call("fleet_commands.get", {
          params: { id: fleetId },
          query: { limit: PAGE, cursor },
          signal,
        });
        held.push(...page.commands.filter(({ approval_id }) => approval_id === pid));
        if (page.cursor === null) break;
        cursor = page.cursor;
      }
      return held.sort((a, b) => nameOf(a) < nameOf(b) ? -1 : 1);
    },
    [fleetId, pid],
    { types: ["fleet_command", "command"] },
  );
  if (error !== null) return html`<${Failure} error=${error} again=${again} />`;
  if (data === null) return html`<${Loading} />`;
  return html`
    <div class="held" role="region" aria-label="Agents" tabindex="0">
      <ul>
        ${data.map((member) =>
          html`
            <li key=${member.command_id}>
              <a href=${addressOf(`/commands/${member.command_id}`)}>${onOneLine(
                nameOf(member),
              )}</a>
              ${" "}<${Badge} state=${member.status} />
            </li>
          `
        )}
      </ul>
    </div>
  `;
}

const nameOf = (
  { agent_name, agent_id }: { readonly agent_name: string | null; readonly agent_id: string },
): string => agent_name ?? agent_id;
