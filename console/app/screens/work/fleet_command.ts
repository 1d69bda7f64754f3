import { html } from "htm/preact";
import { call } from "../../api.ts";
import { ExactCommand } from "../../components/exact_command.ts";
import { ChoiceFilter } from "../../components/filters.ts";
import { FleetRun } from "../../components/command/fleet_run.ts";
import { ChangeError, useChange } from "../../components/form.ts";
import { Name, useNames } from "../../components/names.ts";
import { Failure, Loading } from "../../components/states.ts";
import { ExactTime } from "../../components/time.ts";
import { useData } from "../../data.ts";
import { addressOf, query } from "../../router.ts";
import { may } from "../../session.ts";
import { COMMAND_STATES } from "./command/states.ts";
import { runAgainOnFleet } from "./run/state.ts";

/** A command on many agents: its totals, and each agent's state and output. */
export default function Fleet({ id = "" }: Readonly<Record<string, string>>) {
  const { status = "" } = query.value;
  const change = useChange();
  useNames();
  const { data, error, again } = useData(
    (signal) => call("fleet_commands.get", { params: { id }, query: { limit: 1 }, signal }),
    [id],
    { types: ["fleet_command"], id },
  );
  if (data === null) {
    return html`
      <h1>Fleet command</h1>
      ${error === null ? html`<${Loading} />` : html`<${Failure} error=${error} again=${again} />`}
    `;
  }
  const {
    actor,
    alert_id,
    command,
    created_at,
    finished_at,
    parallel,
    stop_after_failures,
    total,
  } = data;
  return html`
    <div class="title">
      <h1>Fleet command</h1>
      ${may("agents:write") && html`
        <button type="button" disabled=${change.isBusy} onClick=${() =>
          change.run(() => runAgainOnFleet(id, command))}>Run again</button>
      `}
    </div>
    ${error !== null && html`<${Failure} error=${error} again=${again} />`}
    <${ChangeError} change=${change} />
    <div class="cards two">
      <section class="card whole">
        <h2>The whole command</h2>
        <${ExactCommand} text=${command} />
      </section>
      <section class="card">
        <h2>Facts</h2>
        <dl class="facts">
          <dt>Agents</dt><dd>${total.toLocaleString()}, ${parallel} at once</dd>
          <dt>Asked by</dt><dd><${Name} id=${actor} linked /></dd>
          <dt>Asked at</dt><dd><${ExactTime} at=${created_at} /></dd>
          ${finished_at !== null && html`
            <dt>Ended</dt>
            <dd>
              <${ExactTime} at=${finished_at} />
            </dd>
          `}
          ${stop_after_failures !== null && html`
            <dt>Stops after</dt>
            <dd>${stop_after_failures} failures</dd>
          `}
          ${alert_id !== undefined && html`
            <dt>Answers</dt>
            <dd><a href=${addressOf(`/alerts/${alert_id}`)}>an alert</a></dd>
          `}
        </dl>
      </section>
    </div>
    <section class="card">
      <h2>Agents</h2>
      <div class="filters">
        <${ChoiceFilter} name="status" label="State" choices=${COMMAND_STATES} />
      </div>
      <${FleetRun} id=${id} status=${status} opens=${false} />
    </section>
  `;
}
