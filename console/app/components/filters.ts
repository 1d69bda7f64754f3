import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "htm/preact";
import { path, query, setQuery } from "../router.ts";

/** A wait after the last key before a filter counts. */
const TYPED_MS = 300;

/** A filter whose text is in the address under `name`. It counts shortly after the last key. */
export function TextFilter({ name, label, placeholder }: {
  readonly name: string;
  readonly label: string;
  readonly placeholder?: string;
}) {
  const inAddress = query.value[name] ?? "";
  const [text, setText] = useState(inAddress);
  /** What this filter wrote there: its arrival must not undo what was typed since. */
  const written = useRef(inAddress);
  useEffect(() => {
    if (inAddress !== written.current) setText(inAddress);
    written.current = inAddress;
  }, [inAddress]);
  useEffect(() => {
    if (text === inAddress) return;
    const at = path.value;
    const timer = setTimeout(() => {
      // The next screen may still be loading, and the address is its own.
      if (path.value !== at) return;
      written.current = text;
      setQuery({ [name]: text });
    }, TYPED_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return html`
    <label>${label}
      <input type="search" placeholder=${placeholder} value=${text}
        onInput=${(event: Event) => setText((event.target as HTMLInputElement).value)} />
    </label>
  `;
}

/** A filter with a few values, in the address under `name`; the empty one is for all. */
export function ChoiceFilter({ name, label, choices }: {
  readonly name: string;
  readonly label: string;
  readonly choices: readonly string[];
}) {
  return html`
    <label>${label}
      <select value=${query.value[name] ?? ""}
        onChange=${(event: Event) =>
          setQuery({ [name]: (event.target as HTMLSelectElement).value })}>
        <option value="">all</option>
        ${choices.map((one) => html`<option value=${one}>${one.replaceAll("_", " ")}</option>`)}
      </select>
    </label>
  `;
}
