import { useState } from "preact/hooks";
import { call } from "../../api.ts";
import { ChangeError, type Control, Field, useChange } from "../../components/form.ts";
import { html } from "htm/preact";
import { readLabels } from "../../labels.ts";
import { query } from "../../router.ts";
import { LabelsField } from "./agent/labels_field.ts";
import { type Code, Pairing } from "./agent/pairing.ts";

/** Adds a machine: a one-time code, the line to paste there, and its arrival. */
export default function AgentAdd() {
  const change = useChange();
  const [name, setName] = useState(query.value["name"] ?? "");
  const [labels, setLabels] = useState("");
  const [code, setCode] = useState<Code | null>(null);
  const { problem } = readLabels(labels);
  const create = () =>
    change.run(async () => {
      const made = await call("devices.create_code", {
        body: { labels: readLabels(labels).labels },
      });
      setCode({ ...made, name });
    });
  const submit = (event: Event) => {
    event.preventDefault();
    if (problem === null) create();
  };
  return html`
    <div class="title">
      <h1>Add a machine</h1>
    </div>
    ${code !== null
      ? html`<${Pairing} key=${code.id} code=${code} again=${() => setCode(null)} />`
      : html`
        <form class="card slim" onSubmit=${submit}>
          <p>Relay runs commands on a machine through its agent, which connects to this relay by itself:
            no port has to be open there.</p>
          <${Field} label="Name"
            hint="Empty: the machine's host name. A name that is taken gets a number.">${(
              control: Control,
            ) =>
              html`
                <input ...${control} autocomplete="off" spellcheck=${false} placeholder="web-1" maxlength="128"
                  value=${name}
                  onInput=${(event: Event) => setName((event.target as HTMLInputElement).value)} />
              `}<//>
          <${LabelsField} label="Labels" hint=${LABELS_HINT} value=${labels} onInput=${setLabels} />
        <${ChangeError} change=${change} />
          <button type="submit" class="primary" disabled=${change
            .isBusy}>Create the pairing code</button>
        </form>
      `}
  `;
}

const LABELS_HINT = "Policies, and commands on many agents, select by labels. The agent cannot " +
  "change these.";
