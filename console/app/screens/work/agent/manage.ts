import { useState } from "preact/hooks";
import { type Agent, call } from "../../../api.ts";
import {
  ChangeError,
  ConfirmButton,
  type Control,
  Field,
  useChange,
} from "../../../components/form.ts";
import { onOneLine } from "../../../components/visible_text.ts";
import { html } from "htm/preact";
import { addressOf, go, stillHere } from "../../../router.ts";

/** Renames, restarts and deletes the agent. */
export function ManageCard({ agent }: { readonly agent: Agent }) {
  const { id, name, status } = agent;
  const restart = useChange(), removal = useChange();
  const [restarts, setRestarts] = useState(false);
  const shown = onOneLine(name);
  return html`
    <section class="card">
      <h2>Manage</h2>
      <${Rename} key=${id} agent=${agent} />
      <div class="actions">
        ${status !== "offline" && html`
          <${ConfirmButton}
            label="Restart the agent" change=${restart}
            question=${`The program of ${shown} starts again. Commands that run there are ended and shown as lost until it reports how they ended.`}
            action=${async () => {
              await call("agents.restart", { params: { id }, body: {} });
              setRestarts(true);
            }}
          />
        `}
        <${ConfirmButton}
          label="Delete the agent" change=${removal}
          question=${`${shown} ends here: its link closes, its labels and its name are free again, and nothing more can be run on it. Its commands and audit rows stay. The program on the machine still has its credential and can register again; to end that too, delete its device.`}
          action=${async () => {
            const isStillHere = stillHere();
            await call("agents.delete", { params: { id } });
            if (isStillHere()) go("/agents");
          }}
        />
        <a href=${addressOf("/devices")}>Its device</a>
      </div>
      ${restarts && html`<p role="status">The agent was told to restart.</p>`}
    </section>
  `;
}

function Rename({ agent: { id, name } }: { readonly agent: Agent }) {
  const change = useChange();
  // Until something is typed, the field follows a change by somebody else.
  const [typed, setTyped] = useState<string | null>(null);
  const [note, setNote] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    setNote("");
    if (typed === null) return;
    change.run(async () => {
      const renamed = await call("agents.update", { params: { id }, body: { name: typed } });
      if (renamed.name !== typed) setNote(`The name was taken: it is called ${renamed.name} now.`);
      setTyped(null);
    });
  };
  return html`
    <form class="inline" onSubmit=${submit}>
      <${Field} label="Name"
        hint="Small letters, digits, dots, dashes and underscores.">${(control: Control) =>
          html`
            <input ...${control} autocomplete="off" spellcheck=${false} required maxlength="63"
              pattern="[a-z0-9][a-z0-9._\\-]*" value=${typed ?? name}
              onInput=${(event: Event) => setTyped((event.target as HTMLInputElement).value)} />
          `}<//>
      <button type="submit" disabled=${change.isBusy || (typed ?? name) === name}>Rename</button>
      <${ChangeError} change=${change} />
      ${note !== "" && html`<p role="status">${note}</p>`}
    </form>
  `;
}
