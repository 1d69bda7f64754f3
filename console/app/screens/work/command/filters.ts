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
