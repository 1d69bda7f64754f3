import { call, type PatternList } from "../../../api.ts";
import { Badge } from "../../../components/badge.ts";
import { type Change, ChangeError, ConfirmButton, useChange } from "../../../components/form.ts";
import { Failure, Loading } from "../../../components/states.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";
import { query, setQuery } from "../../../router.ts";
import { may } from "../../../session.ts";

type Pack = PatternList["patterns"][number];
type Switch = (
  body: { packs?: Record<string, boolean>; rules?: Record<string, boolean> },
) => Promise<void>;

/** The built-in rules in packs, each of which can be switched off. */
export function Patterns() {
  const change = useChange();
  const { find = "" } = query.value;
  const { data, error, again } = useData(
    async (signal) => (await call("patterns.list", { query: { limit: 100 }, signal })).patterns,
    [],
    { types: ["shield"] },
  );
  const turn: Switch = async (body) => {
    await call("patterns.switch", { body });
    again();
  };
  const wanted = find.toLowerCase();
  const packs = data?.map((pack) => ({
    ...pack,
    shown: pack.rules.filter(({ id, explanation }) =>
      `${id} ${explanation}`.toLowerCase().includes(wanted)
    ),
  })).filter(({ shown }) => shown.length > 0);
  return html`
    <section class="card">
      <h2>Built-in rules</h2>
      <div class="filters">
        <label>Find a rule
          <input type="search" value=${find} placeholder="docker, delete…"
            onInput=${(event: Event) =>
              setQuery({ find: (event.target as HTMLInputElement).value })} />
        </label>
      </div>
      <${ChangeError} change=${change} />
      ${error !== null && html`<${Failure} error=${error} again=${again} />`}
      ${data === null && error === null && html`<${Loading} />`}
      ${packs?.length === 0 && html`<p>No rule matches.</p>`}
      ${packs?.map((pack) =>
        html`
          <${PackView} key=${pack.pack} pack=${pack} rules=${pack.shown} isOpen=${find !== ""}
            change=${change} turn=${turn} />
        `
      )}
    </section>
  `;
}

function PackView({ pack, rules, isOpen, change, turn }: {
  readonly pack: Pack;
  readonly rules: Pack["rules"];
  readonly isOpen: boolean;
  readonly change: Change;
  readonly turn: Switch;
}) {
  const { pack: name, enabled } = pack;
  const removal = useChange();
  const off = pack.rules.filter((rule) => !rule.enabled).length;
  const canTurn = may("patterns:write") && !pack.rules.every(({ fixed }) => fixed);
  return html`
    <details class="pack" open=${isOpen}>
      <summary>
        <strong>${name}</strong>${" "}
        <span class="soft">${pack.rules.length} rules</span>${" "}
        ${!enabled
          ? html`<${Badge} state="off" tone="bad" />`
          : off > 0 && html`<${Badge} state=${`${off} off`} tone="warn" />`}
      </summary>
      ${canTurn && (enabled
        ? html`
          <${ConfirmButton} label=${`Turn the pack ${name} off`} change=${removal}
            question="From now on its rules judge no command, except those that are always on."
            action=${() => turn({ packs: { [name]: false } })} />
        `
        : html`
          <p><button type="button" disabled=${change.isBusy}
            onClick=${() => change.run(() => turn({ packs: { [name]: true } }))}>
            ${`Turn the pack ${name} on`}
          </button></p>
        `)}
      <ul class="entries">
        ${rules.map(({ id, explanation, risk_score, enabled, fixed }) =>
          html`
            <li key=${id} class="rule">
              <div>
                <code>${id}</code> <span class="soft">score ${risk_score}</span>${" "}
                ${!enabled && html`<${Badge} state="off" tone="bad" />`}
                <p class="soft">${explanation}</p>
              </div>
              ${may("patterns:write") && pack.enabled && !fixed && html`
                <button type="button" disabled=${change.isBusy}
                  aria-label=${`Turn ${enabled ? "off" : "on"} ${id}`}
                  onClick=${() => change.run(() => turn({ rules: { [id]: !enabled } }))}>
                  Turn ${enabled ? "off" : "on"}
                </button>
              `}
              ${fixed && html`<span class="soft">always on</span>`}
            </li>
          `
        )}
      </ul>
    </details>
  `;
}
