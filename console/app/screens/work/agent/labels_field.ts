import { useState } from "preact/hooks";
import { Field } from "../../../components/form.ts";
import { html } from "htm/preact";
import { readLabels } from "../../../labels.ts";

/** Labels to type as `env=prod tier=web`. What is wrong with them is said once the field is left. */
export function LabelsField({ label, hint, value, onInput, required = false }: {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly required?: boolean;
}) {
  const [isLeft, setLeft] = useState(false);
  const { problem } = readLabels(value);
  const isShown = isLeft && problem !== null;
  return html`
    <${Field} label=${label} hint=${hint}>${(id: string) =>
      html`
        <input id=${id} autocomplete="off" spellcheck=${false} placeholder="env=prod tier=web"
          required=${required} value=${value} aria-invalid=${isShown}
          aria-describedby=${isShown ? `${id}-problem` : undefined}
          onBlur=${() => setLeft(true)}
          onInput=${(event: Event) => {
            setLeft(false);
            onInput((event.target as HTMLInputElement).value);
          }} />
        ${isShown && html`<p id=${`${id}-problem`} class="bad" role="alert">${problem}</p>`}
      `}<//>
  `;
}
