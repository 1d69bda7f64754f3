import { useEffect, useState } from "preact/hooks";
import { call } from "../api.ts";
import { html } from "htm/preact";
import { go } from "../router.ts";
import { SCREENS } from "../screens.ts";
import { may, mayOpen } from "../session.ts";
import { Dialog } from "./dialog.ts";
import { onOneLine } from "./visible_text.ts";

interface Hit {
  readonly kind: string;
  readonly title: string;
  readonly to: string;
}

const HITS_MAX = 12;
/** A wait after the last key before the relay is asked. */
const TYPED_MS = 150;

/** Finds screens, agents and commands by a part of their name. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState("");
  const [found, setFound] = useState<readonly Hit[]>([]);
  const [chosen, setChosen] = useState(0);
  const screens = SCREENS.filter((screen) =>
    screen.group !== undefined && mayOpen(screen) && includes(screen.title, text)
  ).map(({ title, path }) => ({ kind: "Screen", title, to: path }));
  const hits = [...screens, ...found].slice(0, HITS_MAX);
  useEffect(() => {
    setChosen(0);
    setFound([]);
    if (text.trim() === "") return;
    const abort = new AbortController();
    const timer = setTimeout(
      () => search(text.trim(), abort.signal).then(setFound, () => {}),
      TYPED_MS,
    );
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);
  const openHit = (hit: Hit | undefined) => {
    if (hit === undefined) return;
    onClose();
    go(hit.to);
  };
  const pressed = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by !== undefined) {
      event.preventDefault();
      setChosen(Math.min(hits.length - 1, Math.max(0, chosen + by)));
    } else if (event.key === "Enter") {
      event.preventDefault();
      openHit(hits[chosen]);
    }
  };
  return html`
    <${Dialog} title="Find" onClose=${onClose}>
      <input
        type="search" value=${text} autofocus aria-label="Name of a screen, agent or command"
        placeholder="Agent, command, screen…" role="combobox" aria-expanded="true"
        aria-controls="hits" aria-activedescendant=${hits.length > 0 ? `hit-${chosen}` : undefined}
        onInput=${(event: Event) => setText((event.target as HTMLInputElement).value)}
        onKeyDown=${pressed}
      />
      <ul id="hits" class="hits" role="listbox" aria-label="Found">
        ${hits.map((hit, n) =>
          html`
            <li
              id=${`hit-${n}`} role="option" aria-selected=${n === chosen}
              onClick=${() => openHit(hit)}
            ><span class="kind soft">${hit.kind}</span> ${hit.title}</li>
          `
        )}
      </ul>
      <//>
  `;
}

const includes = (title: string, text: string) => title.toLowerCase().includes(text.toLowerCase());

/** Agents and commands with a text in their name. What the viewer may not read is left out. */
async function search(text: string, signal: AbortSignal): Promise<readonly Hit[]> {
  if (!may("agents:read")) return [];
  const [{ agents }, { commands }] = await Promise.all([
    call("agents.list", { query: { text, limit: 6 }, signal }),
    call("commands.list", { query: { text, limit: 6 }, signal }),
  ]);
  return [
    ...agents.map(({ id, name }) => ({
      kind: "Agent",
      title: onOneLine(name),
      to: `/agents/${id}`,
    })),
    ...commands.map(({ command_id, command }) => ({
      kind: "Command",
      title: onOneLine(command),
      to: `/commands/${command_id}`,
    })),
  ];
}
