import { type Control, Field } from "../../../components/form.ts";
import { html } from "htm/preact";
import { options } from "./state.ts";

type Options = typeof options.value;

/** How long a command may run, and how many agents run it at once. */
export function Options({ isMany }: { readonly isMany: boolean }) {
  return html`
    <details class="options">
      <summary>Options</summary>
      <div class="filters">
        <${NumberField} name="timeout" label="Timeout in seconds" min=${1} max=${600} />
        ${isMany && html`
          <${NumberField} name="parallel" label="Agents at once" min=${1} max=${200} />
          <${NumberField} name="stopAfter" label="Stop after failures" min=${0} max=${1_000}
            hint="0 never stops." />
        `}
      </div>
    </details>
  `;
}

function NumberField({ name, label, hint, min, max }: {
  readonly name: keyof Options;
  readonly label: string;
  readonly hint?: string;
  readonly min: number;
  readonly max: number;
}) {
  const set = (event: Event) => {
    const input = event.target as HTMLInputElement;
    const typed = Number.isNaN(input.valueAsNumber) ? options.value[name] : input.valueAsNumber;
    const value = Math.min(max, Math.max(min, Math.round(typed)));
    // The field shows what counts, even if that is what counted before.
    input.value = `${value}`;
    options.value = { ...options.value, [name]: value };
  };
  return html`
    <${Field} label=${label} hint=${hint}>${(control: Control) =>
      html`
        <input ...${control} type="number" min=${min} max=${max} value=${options.value[name]}
          onChange=${set} />
      `}<//>
  `;
}
