import { call } from "../../../api.ts";
import { Badge } from "../../../components/badge.ts";
import { Failure } from "../../../components/states.ts";
import { Time } from "../../../components/time.ts";
import { onOneLine } from "../../../components/visible_text.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";
import { addressOf } from "../../../router.ts";
import { me } from "../../../session.ts";
import { draft } from "./state.ts";

const READ = 50;
const SHOWN = 10;

/** The viewer's last commands, each once. */
export function History() {
  const { data, error, again } = useData(
    async (signal) => {
      const query = { actor: me.value!.user.id, limit: READ };
      const { commands } = await call("commands.list", { query, signal });
      const seen = new Set<string>();
      return commands.filter(({ command, command_truncated }) => {
        const isNew = command_truncated !== true && !seen.has(command);
        seen.add(command);
        return isNew;
      }).slice(0, SHOWN);
    },
    [],
    { types: ["command"] },
  );
  const use = (command: string) => {
    draft.value = command;
    document.querySelector<HTMLElement>("#command")?.focus();
  };
  return html`
    <section class="card">
      <h2>My last commands</h2>
      ${error !== null && html`<${Failure} error=${error} again=${again} />`}
      ${data?.length === 0 && html`<p class="soft">You have run no command yet.</p>`}
      <ul class="lines">
        ${data?.map(({ command_id, command, status, created_at }) =>
          html`
            <li key=${command_id}>
              <a href=${addressOf(`/commands/${command_id}`)}><code>${onOneLine(command)}</code></a>
              <${Badge} state=${status} />
              <span class="soft"><${Time} at=${created_at} /></span>
              <button type="button" aria-label=${`Use ${onOneLine(command)}`}
                onClick=${() => use(command)}>Use</button>
            </li>
          `
        )}
      </ul>
    </section>
  `;
}
