import { useEffect, useId, useState } from "preact/hooks";
import { Badge } from "../../../components/badge.ts";
import { messageOf } from "../../../components/states.ts";
import { html } from "htm/preact";
import { type Choice, choicesOf, find, type Found } from "./choices.ts";
import { Picked } from "./picked.ts";
import { target } from "./state.ts";
import { withoutLast } from "./target.ts";

const TYPED_MS = 150;

/** Picks agents: by name, by label, or all of them. Typing narrows the choices down. */
export function AgentPicker() {
  const id = useId();
  const [text, setText] = useState("");
  const [found, setFound] = useState<Found | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [chosen, setChosen] = useState(0);
  const [isOpen, setOpen] = useState(false);
  const wanted = text.trim();
  useEffect(() => {
    if (!isOpen) return;
    const abort = new AbortController();
    const show = (found: Found | null, error: unknown) => {
      if (abort.signal.aborted) return;
      setFound(found);
      setError(error);
    };
    const timer = setTimeout(
      () => find(wanted, abort.signal).then((found) => show(found, null), (why) => show(null, why)),
      TYPED_MS,
    );
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [wanted, isOpen]);
  const choices = found === null ? [] : choicesOf(found, target.value);
  const at = Math.min(chosen, choices.length - 1);
  // Enter picks nothing that was found for an earlier text.
  const isCurrent = found?.text === wanted;
  const pick = (choice: Choice | undefined) => {
    if (choice === undefined) return;
    target.value = choice.picked(target.value);
    setText("");
    setChosen(0);
    if (choice.agent === null) setOpen(false);
  };
  const pressed = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by !== undefined) {
      event.preventDefault();
      setOpen(true);
      setChosen(Math.min(choices.length - 1, Math.max(0, at + by)));
    } else if (event.key === "Enter" && isOpen) {
      event.preventDefault();
      if (isCurrent) pick(choices[at]);
    } else if (event.key === "Escape") setOpen(false);
    else if (event.key === "Backspace" && text === "") target.value = withoutLast(target.value);
  };
  const shows = isOpen && choices.length > 0;
  return html`
    <div class="field picker">
      <label for=${id}>Agents</label>
      <${Picked} />
      <input
        id=${id} type="search" autocomplete="off" placeholder="Name, or label as env=prod"
        value=${text}
        role="combobox" aria-expanded=${shows} aria-controls=${`${id}-list`} aria-autocomplete="list"
        aria-activedescendant=${shows ? `${id}-${at}` : undefined}
        onInput=${(event: Event) => {
          setText((event.target as HTMLInputElement).value);
          setChosen(0);
          setOpen(true);
        }}
        onFocus=${() => setOpen(true)} onBlur=${() => setOpen(false)} onKeyDown=${pressed}
      />
      <ul id=${`${id}-list`} class="hits" role="listbox" aria-label="Agents and labels"
        aria-busy=${!isCurrent} hidden=${!shows}>
        ${choices.map(({ words, about, agent }, n) =>
          html`
            <li
              id=${`${id}-${n}`} role="option" aria-selected=${n === at}
              onMouseDown=${(event: Event) => {
                event.preventDefault();
                pick(choices[n]);
              }}
            >
              ${agent === null ? html`<strong>${words}</strong>` : words}
              ${" "}<span class="soft">${about}</span>
              ${agent !== null && html`
                <${Badge} state=${agent.status} />
              `}
            </li>
          `
        )}
      </ul>
      ${isOpen && error !== null && html`<p class="bad" role="alert">${messageOf(error)}</p>`}
      ${isOpen && isCurrent && choices.length === 0 && html`
        <p class="soft" role="status">${wanted === ""
          ? "There is no other agent."
          : "No agent or label matches."}</p>
      `}
    </div>
  `;
}
