import { useRef } from "preact/hooks";
import { space } from "../../space.ts";
import { useNames } from "../../components/names.ts";
import { Empty, Failure, Loading } from "../../components/states.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { addressOf } from "../../router.ts";
import { may, me } from "../../session.ts";
import { AgentsCard } from "./overview/agents_card.ts";
import { AuditCard } from "./overview/audit_card.ts";
import { FirstRun, isSetUp, readProgress } from "./overview/first_run.ts";
import { AlertsCard, CommandsCard } from "./overview/list_cards.ts";
import { WaitingCard } from "./overview/waiting_card.ts";
import { WatchingNote } from "./overview/watching_note.ts";
import { WebhooksCard } from "./overview/webhooks_card.ts";

/** What is going on, at one glance, as far as the viewer may read it. */
export default function Overview() {
  useNames();
  const isDone = useRef<string | null>(null);
  const { data, error, again } = useData(
    async (signal) => {
      if (isDone.current === space.value) return { progress: null };
      const progress = await readProgress(signal);
      if (progress === null || isSetUp(progress)) isDone.current = space.value;
      return { progress };
    },
    [],
    { types: ["agent", "command", "user", "invitation"] },
  );
  if (data === null) {
    return error === null
      ? html`<${Loading} />`
      : html`<${Failure} error=${error} again=${again} />`;
  }
  if (me.value!.scopes.length === 0) return html`<${WithoutRights} />`;
  const { progress } = data;
  return html`
    <div class="title">
      <h1>Overview</h1>
    </div>
    ${progress !== null && !isSetUp(progress) && html`<${FirstRun} progress=${progress} />`}
    ${may("patterns:write") && may("patterns:read") && html`<${WatchingNote} />`}
    <div class="cards">
      ${may("approvals:read") && html`<${WaitingCard} />`}
      ${may("agents:read") && html`<${CommandsCard} />`}
      ${may("agents:read") && html`<${AgentsCard} />`}
      ${may("system:read") && html`<${AlertsCard} />`}
      ${may("system:read") && html`<${WebhooksCard} />`}
      ${(may("audit:read") || may("system:read")) && html`<${AuditCard} />`}
    </div>
  `;
}

/** Shown to people without any right, such as those who lack a second factor that is required. */
const WithoutRights = () =>
  html`
    <div class="title">
      <h1>Overview</h1>
    </div>
    <${Empty} title="Your account may see nothing yet">
      <p>If your organization requires a second factor, set one up in the
        <a href=${addressOf(
          "/settings",
        )}>settings</a>. Otherwise ask an administrator for a role.</p>
      <//>
  `;
