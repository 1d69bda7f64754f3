import { html } from "htm/preact";
import { names } from "../../../components/names.ts";
import { onOneLine } from "../../../components/visible_text.ts";
import { query, setQuery } from "../../../router.ts";
import { me } from "../../../session.ts";

const valueOf = (event: Event): string => (event.target as HTMLInputElement).value;

/** Who asked: the viewer, or one of the people and keys whose names are known. */
export function ActorFilter() {
  const { actor = "" } = query.value;
  const own = me.value!.user.id;
  const others = [...names.value].filter(([id]) => /^(usr|key)_/.test(id) && id !== own);
  const isUnknown = actor !== "" && actor !== own && !names.value.has(actor);
  return html`
    <label>Asked by
      <select value=${actor} onChange=${(event: Event) => setQuery({ actor: valueOf(event) })}>
        <option value="">anyone</option>
        <option value=${own}>me</option>
        ${isUnknown && html`<option value=${actor}>${actor}</option>`}
        ${others.map(([id, name]) =>
          html`<option key=${id} value=${id}>${onOneLine(name)}</option>`
        )}
      </select>
    </label>
  `;
}

/** An instant in the viewer's zone; the address has it in UTC, so that a link means the same everywhere. */
export function InstantFilter({ name, label }: { readonly name: string; readonly label: string }) {
  const set = (event: Event) => {
    const date = new Date(valueOf(event));
    // It is empty, or its year has more digits than an instant of the API.
    setQuery({ [name]: Number.isNaN(date.getTime()) ? "" : date.toISOString() });
  };
  return html`
    <label>${label}
      <input type="datetime-local" value=${localOf(query.value[name])} onChange=${set} />
    </label>
  `;
}

/** An instant as `datetime-local` takes it; empty for none or a malformed one. */
function localOf(instant: string | undefined): string {
  const date = new Date(instant ?? "");
  if (Number.isNaN(date.getTime())) return "";
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}
