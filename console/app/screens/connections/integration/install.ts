import { useState } from "preact/hooks";
import { call, type CatalogEntry } from "../../../api.ts";
import { ChangeError, type Control, Field, useChange } from "../../../components/form.ts";
import { CheckGroups, SelectField, TextField } from "../../../components/inputs.ts";
import { html } from "htm/preact";
import { setQuery } from "../../../router.ts";
import { type ConfigField, configOf, fieldsOf } from "./config_fields.ts";

/** Installs an integration; its fields are those that the catalogue names. */
export function IntegrationInstall({ entry, onInstalled }: {
  readonly entry: CatalogEntry;
  readonly onInstalled: () => void;
}) {
  const change = useChange();
  const [name, setName] = useState(entry.name);
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
  const fields = fieldsOf(entry);
  const submit = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      await call("integrations.install", {
        body: { type: entry.type, name, config: configOf(fields, typed) },
      });
      setQuery({ install: "" });
      onInstalled();
    });
  };
  return html`
    <form class="card" onSubmit=${submit} aria-label=${`Install ${entry.name}`}>
      <h2>Install ${entry.name}</h2>
      <p>${entry.description}</p>
      <div class="pair">
        <${TextField} label="Name" value=${name} onInput=${setName} required maxlength=${100} />
        ${fields.map((field) =>
          html`
            <${ConfigInput} key=${field.name} field=${field} value=${typed[field.name] ??
              field.preset} onInput=${(value: string) =>
              setTyped((now) => ({ ...now, [field.name]: value }))} />
          `
        )}
      </div>
      ${entry.capabilities.includes("oauth") && html`
        <p class="soft">
          With a client id it signs in by OAuth: install it, then press “Connect”.
        </p>
      `}
      <${ChangeError} change=${change} />
      <div class="actions">
        <button type="submit" class="primary" disabled=${change.isBusy}>Install it</button>
        <button type="button" onClick=${() => setQuery({ install: "" })}>Cancel</button>
      </div>
    </form>
  `;
}

function ConfigInput({ field, value, onInput }: {
  readonly field: ConfigField;
  readonly value: string;
  readonly onInput: (value: string) => void;
}) {
  const { name, kind, about, options, isRequired, isSecret } = field;
  const label = name.replaceAll("_", " ");
  if (kind === "choices") {
    return html`
      <${CheckGroups} legend=${label} chosen=${value.split("\n").filter((one) => one !== "")}
        groups=${[{ title: about ?? label, options: options.map((value) => ({ value })) }]}
        onChange=${(chosen: readonly string[]) => onInput(chosen.join("\n"))} />
    `;
  }
  if (kind === "choice") {
    return html`
      <${SelectField} label=${label} hint=${about} value=${value} onChange=${onInput}
        options=${isRequired ? options : ["", ...options]} />
    `;
  }
  if (kind === "lines") {
    return html`
      <${Field} label=${label} hint=${`${about ?? ""} One a line.`}>${(control: Control) =>
        html`
          <textarea ...${control} rows="2" value=${value} onInput=${(event: Event) =>
            onInput((event.target as HTMLTextAreaElement).value)}></textarea>
        `}<//>
    `;
  }
  return html`
    <${TextField} label=${label} hint=${about} value=${value} onInput=${onInput}
      required=${isRequired} type=${isSecret ? "password" : "text"}
      autocomplete=${isSecret ? "new-password" : "off"} />
  `;
}
