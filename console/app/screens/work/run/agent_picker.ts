import { useEffect, useId, useState } from "preact/hooks";
import { type Agent, call } from "../../../api.ts";
import { Badge } from "../../../components/badge.ts";
import { onOneLine } from "../../../components/visible_text.ts";
import { html } from "htm/preact";
import { NOBODY, type Target, target } from "./state.ts";

/** Something that can be picked. */
interface Choice {
  readonly words: string;
  readonly about: string;
  readonly agent: Agent | null;
  readonly target: Target;
}

const AGENTS_SHOWN = 8;
const LABELS_SHOWN = 4;
const TYPED_MS = 150;

/** Picks agents: by name, by label, or all of them. Typing narrows the choices down. */
export function AgentPicker() {
  const id = useId();
  const [text, setText] = useState("");
  const [choices, setChoices] = useState<readonly Choice[]>([]);
  const [chosen, setChosen] = useState(0);
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    if (!isOpen) return;
    const abort = new AbortController();
    const timer = setTimeout(() =>
      find(text.trim(), abort.signal).then((found) => {
        setChoices(found);
        setChosen(0);
      }, () => {}), TYPED_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text, isOpen, target.value]);
  const pick = (choice: Choice | undefined) => {
    if (choice === undefined) return;
    target.value = choice.target;
    setText("");
    if (choice.agent === null) setOpen(false);
  };
  const pressed = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by !== undefined) {
      event.preventDefault();
      setOpen(true);
      setChosen(Math.min(choices.length - 1, Math.max(0, chosen + by)));
    } else if (event.key === "Enter" && isOpen) {
      event.preventDefault();
      pick(choices[chosen]);
    } else if (event.key === "Escape") setOpen(false);
    else if (event.key === "Backspace" && text === "") removeLast();
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
        aria-activedescendant=${shows ? `${id}-${chosen}` : undefined}
        onInput=${(event: Event) => {
          setText((event.target as HTMLInputElement).value);
          setOpen(true);
        }}
        onFocus=${() => setOpen(true)} onBlur=${() => setOpen(false)} onKeyDown=${pressed}
      />
      <ul id=${`${id}-list`} class="hits" role="listbox" aria-label="Agents and labels" hidden=${!shows}>
        ${choices.map(({ words, about, agent }, n) =>
          html`
            <li
              id=${`${id}-${n}`} role="option" aria-selected=${n === chosen}
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
    </div>
  `;
}

/** What is picked, each with a button that removes it. */
function Picked() {
  const picked = target.value;
  if (picked.kind === "agents") {
    if (picked.agents.length === 0) return null;
    return html`
      <ul class="picked" aria-label="Picked agents">
        ${picked.agents.map(({ id, name, status }) =>
          html`
            <li key=${id}>
              ${onOneLine(name)} ${status !== "online" && html`
                <${Badge} state=${status} />
              `}
              <button type="button" aria-label=${`Remove ${name}`}
                onClick=${() => remove(id)}>×</button>
            </li>
          `
        )}
      </ul>
    `;
  }
  const words = picked.kind === "all"
    ? `All ${picked.total} agents`
    : `${Object.entries(picked.labels).map(([key, value]) => `${key}=${value}`).join(" ")}: ` +
      `${picked.total} agents`;
  return html`
    <ul class="picked" aria-label="Picked agents">
      <li>
        ${onOneLine(words)} <button type="button" aria-label="Remove" onClick=${() =>
          target.value = NOBODY}>×</button>
      </li>
    </ul>
  `;
}

function remove(id: string): void {
  const now = target.value;
  if (now.kind !== "agents") return;
  target.value = { kind: "agents", agents: now.agents.filter((agent) => agent.id !== id) };
}

function removeLast(): void {
  const now = target.value;
  target.value = now.kind === "agents" ? { ...now, agents: now.agents.slice(0, -1) } : NOBODY;
}

/** The agents and labels that match a text. A label replaces what is picked, because a command takes one or the other. */
async function find(text: string, signal: AbortSignal): Promise<readonly Choice[]> {
  const picked = target.value.kind === "agents" ? target.value.agents : [];
  const isLabel = text.includes("=");
  const { agents, pagination } = await call("agents.list", {
    query: { limit: 200, ...!isLabel && text !== "" && { text } },
    signal,
  });
  const labels = await labelsOf(text, agents, signal);
  const others = agents.filter(({ id }) => !picked.some((agent) => agent.id === id));
  return [
    ...labels,
    ...text === "" && pagination.total > 1
      ? [{
        words: "All agents",
        about: `${pagination.total}`,
        agent: null,
        target: { kind: "all", total: pagination.total } as const,
      }]
      : [],
    ...(isLabel ? [] : others).slice(0, AGENTS_SHOWN).map((agent) => ({
      words: onOneLine(agent.name),
      about: onOneLine(
        Object.entries(agent.labels).map(([key, value]) => `${key}=${value}`).join(" "),
      ),
      agent,
      target: { kind: "agents", agents: [...picked, agent] } as const,
    })),
  ];
}

/** Labels that begin like the text, each with the number of its agents. */
async function labelsOf(
  text: string,
  agents: readonly Agent[],
  signal: AbortSignal,
): Promise<readonly Choice[]> {
  const known = new Set(
    agents.flatMap(({ labels }) => Object.entries(labels).map(([key, value]) => `${key}=${value}`)),
  );
  const typed = /^[^=\s]+=.+$/.test(text) ? [text] : [];
  const wanted = [...new Set([...typed, ...[...known].filter((one) => one.includes(text))])];
  const found = await Promise.all(
    wanted.slice(0, LABELS_SHOWN).map(async (label): Promise<Choice> => {
      const { pagination: { total } } = await call("agents.list", {
        query: { label, limit: 1 },
        signal,
      });
      const cut = label.indexOf("=");
      const labels = { [label.slice(0, cut)]: label.slice(cut + 1) };
      return {
        words: onOneLine(label),
        about: `${total} ${total === 1 ? "agent" : "agents"}`,
        agent: null,
        target: { kind: "labels", labels, total },
      };
    }),
  );
  return found.filter(({ target }) => target.kind === "labels" && target.total > 0);
}
