import { html } from "htm/preact";
import { call, type Command, type ListedCommand, RelayError } from "../../api.ts";
import { CommandRun } from "../../components/command/command_run.ts";
import { ExactCommand } from "../../components/exact_command.ts";
import { ChangeError, useChange } from "../../components/form.ts";
import { useNames } from "../../components/names.ts";
import { Failure, Loading } from "../../components/states.ts";
import { Story } from "../../components/story.ts";
import { Verdict } from "../../components/verdict.ts";
import { useData } from "../../data.ts";
import { may } from "../../session.ts";
import { Facts } from "./command/facts.ts";
import { Receipt } from "./command/receipt.ts";
import { runAgain } from "./run/state.ts";

/** One command: its whole text, its output, why it was allowed or not, and what proves it. */
export default function CommandScreen({ id = "" }: Readonly<Record<string, string>>) {
  useNames();
  const { data, error, again } = useData((signal) => load(id, signal), [id], {
    types: ["command"],
    id,
  });
  if (data !== null) {
    return html`
      ${error !== null && html`<${Failure} error=${error} again=${again} />`}
      <${Shown} key=${id} ...${data} />
    `;
  }
  return html`
    <h1>Command</h1>
    ${error === null ? html`<${Loading} />` : html`<${Failure} error=${error} again=${again} />`}
  `;
}

interface Found {
  readonly listed: ListedCommand;
  readonly command: Command;
}

/** The address has no agent, so the list finds the command first. */
async function load(id: string, signal: AbortSignal): Promise<Found> {
  const { commands: [listed] } = await call("commands.list", {
    query: { command_id: id, limit: 1 },
    signal,
  });
  if (listed === undefined) {
    throw new RelayError(
      "There is no such command here. Its record may have been removed by age.",
      {
        status: 404,
        code: "NOT_FOUND",
        path: id,
      },
    );
  }
  const params = { id: listed.agent_id, command_id: id };
  return { listed, command: await call("commands.get", { params, signal }) };
}

function Shown({ listed, command }: Found) {
  const { agent_id, alert_id, command_id, shield_result, status, thread } = command;
  const change = useChange();
  return html`
    <div class="title">
      <h1>Command</h1>
      ${may("agents:write") && html`
        <button type="button" disabled=${change.isBusy} onClick=${() =>
          change.run(() => runAgain(command.command, agent_id))}>Run again</button>
      `}
    </div>
    <${ChangeError} change=${change} />
    <div class="cards two">
      <section class="card whole">
        <h2>The whole command</h2>
        <${ExactCommand} text=${command.command} span=${shield_result.span}
          sha256=${listed.command_sha256} />
      </section>
      <section class="card whole">
        <h2>Result</h2>
        <${CommandRun} agentId=${agent_id} commandId=${command_id} status=${status}
          label="Output" opens=${false} />
      </section>
      <section class="card">
        <h2>Verdict</h2>
        <${Verdict} result=${shield_result} />
      </section>
      <section class="card">
        <h2>Facts</h2>
        <${Facts} listed=${listed} />
        ${thread !== undefined && html`
          <${Story} thread=${thread} isAnswer=${alert_id !== undefined} />
        `}
      </section>
      <${Receipt} command=${command} />
    </div>
  `;
}
