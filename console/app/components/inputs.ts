import type { ComponentChildren } from "preact";
import { html } from "htm/preact";
import type { Choices } from "./scopes.ts";
import { type Control, Field } from "./form.ts";

interface TextProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly hint?: string;
  readonly type?: "text" | "email" | "password" | "url" | "number" | "datetime-local";
  readonly required?: boolean;
  readonly readonly?: boolean;
  readonly class?: string;
  readonly spellcheck?: boolean;
  readonly placeholder?: string;
  readonly autocomplete?: string;
  readonly inputmode?: string;
  readonly min?: number;
  readonly max?: number;
  readonly step?: number;
  readonly maxlength?: number;
  readonly minlength?: number;
}

/** A labelled line of text. */
export function TextField({ label, hint, value, onInput, ...rest }: TextProps) {
  return html`
    <${Field} label=${label} hint=${hint}>${(control: Control) =>
      html`
        <input
          ...${control} autocomplete="off" ...${rest} value=${value}
          onInput=${(event: Event) => onInput((event.target as HTMLInputElement).value)}
        />
      `}<//>
  `;
}

/** A labelled choice of one; each option is a value, or a value with its words. */
export function SelectField({ label, hint, value, options, onChange }: {
  readonly label: string;
  readonly hint?: string;
  readonly value: string;
  readonly options: readonly (string | readonly [value: string, words: string])[];
  readonly onChange: (value: string) => void;
}) {
  return html`
    <${Field} label=${label} hint=${hint}>${(control: Control) =>
      html`
        <select ...${control} value=${value}
          onChange=${(event: Event) => onChange((event.target as HTMLSelectElement).value)}>
          ${options.map((option) => {
            const [of, words] = typeof option === "string" ? [option, option] : option;
            return html`<option value=${of}>${words}</option>`;
          })}
        </select>
      `}<//>
  `;
}

/** A box to tick, with its words. */
export function Check({ checked, onChange, disabled = false, children }: {
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly disabled?: boolean;
  readonly children: ComponentChildren;
}) {
  return html`
    <label class="check">
      <input type="checkbox" checked=${checked} disabled=${disabled}
        onChange=${(event: Event) => onChange((event.target as HTMLInputElement).checked)} />
      <span>${children}</span>
    </label>
  `;
}

/** Boxes to tick, in groups. Each group can be ticked at once. */
export function CheckGroups({ legend, groups, chosen, onChange, disabled = false }: {
  readonly legend: string;
  readonly groups: readonly Choices[];
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
  readonly disabled?: boolean;
}) {
  const set = (values: readonly string[], isChosen: boolean) => {
    const others = chosen.filter((one) => !values.includes(one));
    onChange(isChosen ? [...others, ...values] : others);
  };
  return html`
    <fieldset class="choices" disabled=${disabled}>
      <legend>${legend} <span class="soft">${chosen.length} chosen</span></legend>
      <div>
        ${groups.map(({ title, options }) => {
          const values = options.map(({ value }) => value);
          const isWhole = values.every((value) => chosen.includes(value));
          return html`
            <div role="group" aria-label=${title}>
              <p>
                <strong>${title}</strong>${" "}
                ${values.length > 1 && html`
                  <button type="button" class="plain"
                    aria-label=${`${isWhole ? "Choose none" : "Choose all"} of ${title}`}
                    onClick=${() => set(values, !isWhole)}>${isWhole ? "none" : "all"}</button>
                `}
              </p>
              ${options.map(({ value, about }) =>
                html`
                  <${Check} key=${value} checked=${chosen.includes(value)}
                    onChange=${(isChosen: boolean) => set([value], isChosen)}>
                    <code>${value}</code>${about && html`<span class="soft"> ${about}</span>`}
                  <//>
                `
              )}
            </div>
          `;
        })}
      </div>
    </fieldset>
  `;
}
