import { useEffect } from "preact/hooks";
import { call, RelayError } from "../../api.ts";
import { ChangeError, useChange } from "../../components/form.ts";
import { messageOf } from "../../components/states.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { addressOf, query } from "../../router.ts";
import { AgentPicker } from "./run/agent_picker.ts";
import { History } from "./run/history.ts";
import { Options } from "./run/options.ts";
import { ShieldHint } from "./run/shield_hint.ts";
import { StartedCard } from "./run/started_card.ts";
import { draft, start, type Started, started, target } from "./run/state.ts";
import { nameOf, sizeOf } from "./run/target.ts";

/** Runs a command on one agent or on many, and shows what it does. */
export default function Run() {
  const change = useChange();
  const missing = useAgentOfAddress();
  const size = sizeOf(target.value);
  const isReady = size > 0 && draft.value.trim() !== "";
  const run = () => isReady && change.run(() => start(draft.value, target.value));
  const again = ({ command, fleet, target: of }: Started) => {
    draft.value = (command ?? fleet).command;
    target.value = of;
    document.querySelector<HTMLElement>("#command")?.focus();
  };
  const denied = commandOf(change.error);
  return html`
    <div class="title">
      <h1>Run</h1>
    </div>
    <div class="cards two">
      <form class="card" onSubmit=${(event: Event) => {
        event.preventDefault();
        run();
      }}>
        ${missing !== null && html`<p class="bad" role="alert">${messageOf(missing)}</p>`}
        <${AgentPicker} />
        <div class="field">
          <label for="command">Command</label>
          <textarea
            id="command" rows="3" spellcheck="false" autocapitalize="off" autocomplete="off"
            placeholder="uname -a" value=${draft.value}
            onInput=${(event: Event) => draft.value = (event.target as HTMLTextAreaElement).value}
            onKeyDown=${(event: KeyboardEvent) => {
              if (event.key !== "Enter" || !event.ctrlKey && !event.metaKey) return;
              event.preventDefault();
              run();
            }}
          ></textarea>
        </div>
        <${Options} isMany=${size > 1} />
        <${ChangeError} change=${change} />
        ${denied !== null && html`
          <p><a href=${addressOf(
            `/commands/${denied}`,
          )}>Open the command and why it was refused</a></p>
        `}
        <p class="actions">
          <button type="submit" class="primary" disabled=${!isReady || change.isBusy}>
            ${size === 0 ? "Run" : `Run on ${nameOf(target.value)}`}
          </button>
          <span class="soft"><kbd>Ctrl</kbd> <kbd>Enter</kbd></span>
        </p>
      </form>
      <div class="card">
        <${ShieldHint} />
      </div>
    </div>
    ${started.value.map((one) =>
      html`<${StartedCard} key=${one.key} started=${one} again=${() => again(one)} />`
    )}
    <${History} />
  `;
}

/** The command of a refusal, which is on record. */
function commandOf(error: unknown): string | null {
  const id = error instanceof RelayError ? error.details["command_id"] : null;
  return typeof id === "string" ? id : null;
}

/** Picks the agent that the address names, as the link of an agent's page does; why it cannot, if so. */
function useAgentOfAddress(): unknown {
  const { agent } = query.value;
  const { data, error } = useData(
    async (signal) =>
      agent === undefined ? null : await call("agents.get", { params: { id: agent }, signal }),
    [agent],
  );
  useEffect(() => {
    if (data !== null) target.value = { kind: "agents", agents: [data] };
  }, [data]);
  return error;
}
