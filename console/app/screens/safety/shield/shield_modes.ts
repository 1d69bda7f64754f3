import { useState } from "preact/hooks";
import { call, type ShieldMode, type ShieldSettings } from "../../../api.ts";
import { Badge } from "../../../components/badge.ts";
import { ChangeError, ConfirmButton, useChange } from "../../../components/form.ts";
import { Name } from "../../../components/names.ts";
import { html } from "htm/preact";
import { may } from "../../../session.ts";

const MODES: Readonly<Record<ShieldMode, string>> = {
  enforce: "Verdicts apply: denied commands do not run, and held ones wait for people.",
  observe: "Watch: every command runs, and its verdict is only recorded.",
  off: "Every command runs. The verdict that would have applied is still recorded.",
};

/** Whether verdicts apply, in general and for single agents. */
export function ShieldModes({ settings, changed }: {
  readonly settings: ShieldSettings;
  readonly changed: () => void;
}) {
  const change = useChange(), following = useChange();
  const { mode, agent_modes } = settings;
  // Until something is chosen, the choice follows a change by somebody else.
  const [chosen, setChosen] = useState<ShieldMode | null>(null);
  const set = async () => {
    await call("shield.change", { body: { mode: chosen! } });
    setChosen(null);
    changed();
  };
  const others = Object.entries(agent_modes);
  const follow = (agent: string) =>
    following.run(async () => {
      await changeAgentModes(({ [agent]: _, ...rest }) => rest);
      changed();
    });
  return html`
    <section class="card">
      <h2>Mode</h2>
      <p>
        <${Badge} state=${mode} tone=${mode === "enforce" ? "good" : "bad"} /> ${MODES[mode]}
      </p>
      ${may("system:write") && html`
        <fieldset class="choice">
          <legend>Change it</legend>
          ${(Object.keys(MODES) as ShieldMode[]).map((one) =>
            html`
              <label>
                <input type="radio" name="mode" value=${one} checked=${(chosen ?? mode) === one}
                  onChange=${() => setChosen(one)} />
                <span><strong>${one}</strong> <span class="soft">${MODES[one]}</span></span>
              </label>
            `
          )}
        </fieldset>
        ${chosen !== null && chosen !== mode && html`
          <${ConfirmButton} label=${`Set the mode to ${chosen}`} change=${change}
            question=${chosen === "enforce"
              ? "From now on verdicts apply to all agents without a mode of their own."
              : "From now on dangerous commands run on all agents without a mode of their own."}
            action=${set} />
        `}
      `}
      ${others.length > 0 && html`
        <h3>Agents with a mode of their own</h3>
        <ul class="entries">
          ${others.map(([id, of]) =>
            html`
              <li key=${id} class="actions">
                <${Name} id=${id} linked />
                <${Badge} state=${of} tone=${of === "enforce" ? "good" : "bad"} />
                ${may("system:write") && html`
                  <button type="button" disabled=${following.isBusy} onClick=${() => follow(id)}>
                    Follow the general mode
                  </button>
                `}
              </li>
            `
          )}
        </ul>
        <${ChangeError} change=${following} />
      `}
      ${may("system:write") && html`<${AgentMode} changed=${changed} />`}
    </section>
  `;
}

type AgentModes = ShieldSettings["agent_modes"];

/** Changes the modes of single agents. They are read anew, because the relay replaces all of them. */
async function changeAgentModes(change: (modes: AgentModes) => AgentModes): Promise<void> {
  const { agent_modes } = await call("shield.settings");
  await call("shield.change", { body: { agent_modes: change(agent_modes) } });
}

function AgentMode({ changed }: { readonly changed: () => void }) {
  const change = useChange();
  const [agent, setAgent] = useState("");
  const [mode, setMode] = useState<ShieldMode>("observe");
  const submit = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      const { id } = await call("agents.get", { params: { id: agent.trim() } });
      await changeAgentModes((modes) => ({ ...modes, [id]: mode }));
      setAgent("");
      changed();
    });
  };
  return html`
    <details class="more">
      <summary>Give one agent a mode of its own</summary>
      <form class="filters" onSubmit=${submit}>
        <label>Agent
          <input required value=${agent} placeholder="name or id" autocomplete="off"
            onInput=${(event: Event) => setAgent((event.target as HTMLInputElement).value)} />
        </label>
        <label>Mode
          <select value=${mode} onChange=${(event: Event) =>
            setMode((event.target as HTMLSelectElement).value as ShieldMode)}>
            ${Object.keys(MODES).map((one) => html`<option value=${one}>${one}</option>`)}
          </select>
        </label>
        <button type="submit" disabled=${change.isBusy}>Set it</button>
      </form>
      <${ChangeError} change=${change} />
    </details>
  `;
}
