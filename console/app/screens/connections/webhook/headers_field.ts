import { type Control, Field } from "../../../components/form.ts";
import { html } from "htm/preact";

/** The webhook's own headers. */
export function HeadersField({ value, onInput }: {
  readonly value: string;
  readonly onInput: (value: string) => void;
}) {
  return html`
    <${Field} label="Own headers"
      hint="One a line, as in “Authorization: Bearer …”. The value ******** keeps the stored one.">${(
        control: Control,
      ) =>
        html`
          <textarea ...${control} rows="3" value=${value}
            onInput=${(event: Event) =>
              onInput((event.target as HTMLTextAreaElement).value)}></textarea>
        `}<//>
  `;
}
