import { useEffect, useState } from "preact/hooks";
import { html } from "htm/preact";
import { query, setQuery, stillHere } from "../router.ts";

/** A wait after the last key before a filter counts. */
const TYPED_MS = 300;

/** A filter whose text is in the address under `name`. It counts shortly after the last key. */
export function TextFilter({ name, label, placeholder }: {
  readonly name: string;
  readonly label: string;
  readonly placeholder?: string;
}) {
  const [typed, setTyped] = useState<string | null>(null);
  useEffect(() => {
    if (typed === null) return;
    const isStillHere = stillHere();
    const timer = setTimeout(() => {
      // While the next screen is loaded, this one is there, but the address is that of the next.
      if (isStillHere()) setQuery({ [name]: typed });
      setTyped((now) => now === typed ? null : now);
    }, TYPED_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return html`
    <label>${label}
      <input type="search" placeholder=${placeholder} value=${typed ?? query.value[name] ?? ""}
        onInput=${(event: Event) => setTyped((event.target as HTMLInputElement).value)} />
    </label>
  `;
}

/** A filter that counts once its field is left or Enter is pressed: for text that means nothing before it is whole. */
export function WholeTextFilter({ name, label, type = "text", list, placeholder }: {
  readonly name: string;
  readonly label: string;
  readonly type?: "search" | "text";
  /** The id of a datalist with suggestions. */
  readonly list?: string;
  readonly placeholder?: string;
}) {
  // The list below may be drawn anew meanwhile, which must not take what is typed.
  const [typed, setTyped] = useState<string | null>(null);
  return html`
    <label>${label}
      <input type=${type} autocomplete="off" spellcheck=${false} list=${list}
        placeholder=${placeholder} value=${typed ?? query.value[name] ?? ""}
        onInput=${(event: Event) => setTyped((event.target as HTMLInputElement).value)}
        onChange=${(event: Event) => {
          setTyped(null);
          setQuery({ [name]: (event.target as HTMLInputElement).value.trim() });
        }} />
    </label>
  `;
}

/** A filter with a few values, in the address under `name`; the empty one is for all, or for what `all` says. */
export function ChoiceFilter({ name, label, choices, all = "all" }: {
  readonly name: string;
  readonly label: string;
  readonly choices: readonly string[];
  readonly all?: string;
}) {
  return html`
    <label>${label}
      <select value=${query.value[name] ?? ""}
        onChange=${(event: Event) =>
          setQuery({ [name]: (event.target as HTMLSelectElement).value })}>
        <option value="">${all}</option>
        ${choices.map((one) => html`<option value=${one}>${one.replaceAll("_", " ")}</option>`)}
      </select>
    </label>
  `;
}
