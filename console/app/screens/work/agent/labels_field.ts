import { useId, useState } from "preact/hooks";
import { type Control, Field } from "../../../components/form.ts";
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
  const problemId = useId();
  const isShown = isLeft && problem !== null;
  return html`
    <${Field} label=${label} hint=${hint}>${(control: Control) =>
      html`
        <input ...${control} ...${isShown && { "aria-describedby": problemId }} autocomplete="off"
          spellcheck=${false} placeholder="env=prod tier=web"
          required=${required} value=${value} aria-invalid=${isShown}
          onBlur=${() => setLeft(true)}
          onInput=${(event: Event) => {
            setLeft(false);
            onInput((event.target as HTMLInputElement).value);
          }} />
        ${isShown && html`<p id=${problemId} class="bad" role="alert">${problem}</p>`}
      `}<//>
  `;
}
