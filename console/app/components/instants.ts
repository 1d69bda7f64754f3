import { html } from "htm/preact";
import { query, setQuery } from "../router.ts";

/** The value of a `datetime-local` control, which is in the viewer's zone, as an instant; empty without one. */
export function instantOf(local: string): string {
  const date = new Date(local);
  return Number.isNaN(date.getTime()) ? "" : date.toISOString();
}

/** An instant as `datetime-local` takes it; empty for none or a malformed one. */
export function localOf(instant: string | undefined): string {
  const date = new Date(instant ?? "");
  if (Number.isNaN(date.getTime())) return "";
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}

/** An instant in the viewer's zone; the address has it in UTC, so that a link means the same everywhere. */
export function InstantFilter({ name, label }: { readonly name: string; readonly label: string }) {
  const set = (event: Event) =>
    setQuery({ [name]: instantOf((event.target as HTMLInputElement).value) });
  return html`
    <label>${label}
      <input type="datetime-local" value=${localOf(query.value[name])} onChange=${set} />
    </label>
  `;
}
