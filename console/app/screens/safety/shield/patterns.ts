import { call, type PatternList, type Replay } from "../../../api.ts";
import { Badge } from "../../../components/badge.ts";
import { type Change, ChangeError, ConfirmButton, useChange } from "../../../components/form.ts";
import { Failure, Loading } from "../../../components/states.ts";
import { useData } from "../../../data.ts";
import { onOneLine } from "../../../components/visible_text.ts";
import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { addressOf, query, setQuery } from "../../../router.ts";
import { may } from "../../../session.ts";

type Pack = PatternList["patterns"][number];
type Way = boolean | "watch";
type Switch = (
  body: { packs?: Record<string, Way>; rules?: Record<string, Way> },
) => Promise<void>;
/** The replay of a pack that only watches. */
const REPLAYED = 1_000;
/** The most commands of a replay on the screen. */
const SHOWN_MAX = 20;

/** The built-in rules in packs, each of which can be switched off or only watch. */
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

/** What the rules of a pack that only watches would have held of the last commands. */
function Missed({ pack }: { readonly pack: string }) {
  const { data, error, again } = useData(
    async (signal) =>
      await call("shield.evaluate", {
        body: { replay: REPLAYED, patterns: { packs: { [pack]: true } } },
        signal,
      }) as Replay,
    [pack],
  );
  if (error !== null) return html`<${Failure} error=${error} again=${again} />`;
  if (data === null) return html`<${Loading} />`;
  const { changed, replayed } = data;
  return html`
    <p>Of the last ${replayed}
      commands they would have held or denied ${changed.length}.</p>
    ${changed.length > 0 && html`
      <ul class="entries">
        ${changed.slice(0, SHOWN_MAX).map(({ command, command_id, rule_ids }) =>
          html`
            <li key=${command_id}>
              <a href=${addressOf(`/commands/${command_id}`)}><code>${onOneLine(command)}</code></a>
              <span class="soft"> ${rule_ids.join(", ")}</span>
            </li>
          `
        )}
      </ul>
    `}
  `;
}

function PackView({ pack, rules, isOpen, change, turn }: {
  readonly pack: Pack;
  readonly rules: Pack["rules"];
  readonly isOpen: boolean;
  readonly change: Change;
  readonly turn: Switch;
}) {
  const { pack: name, enabled, watched } = pack;
  const removal = useChange();
  const [isReplayed, setReplayed] = useState(false);
  const off = pack.rules.filter((rule) => !rule.enabled).length;
  const now = !enabled ? false : watched ? "watch" : true;
  const canTurn = may("patterns:write") && !pack.rules.every(({ fixed }) => fixed);
  return html`
    <details class="pack" open=${isOpen}>
      <summary>
        <strong>${name}</strong>${" "}
        <span class="soft">${pack.rules.length} rules</span>${" "}
        ${!enabled
          ? html`<${Badge} state="off" tone="bad" />`
          : watched
          ? html`<${Badge} state="only watches" tone="warn" />`
          : off > 0 && html`<${Badge} state=${`${off} off`} tone="warn" />`}
      </summary>
      ${enabled && watched && may("system:read") &&
        (isReplayed ? html`<${Missed} pack=${name} />` : html`
          <p>These rules name what they find in results, and decide nothing.</p>
          <p><button type="button" onClick=${() => setReplayed(true)}>
            Show what they would have held
          </button></p>
        `)}
      ${canTurn && now !== true && html`
        <p><button type="button" disabled=${change.isBusy}
          onClick=${() => change.run(() => turn({ packs: { [name]: true } }))}>
          ${`Turn the pack ${name} on`}
        </button></p>
      `}
      ${canTurn && now !== "watch" && html`
        <${ConfirmButton} label=${`Let the pack ${name} only watch`} change=${removal}
          question="From now on its rules decide nothing. Results name what they find."
          action=${() => turn({ packs: { [name]: "watch" } })} />
      `}
      ${canTurn && now !== false && html`
        <${ConfirmButton} label=${`Turn the pack ${name} off`} change=${removal}
          question="From now on its rules judge no command, except those that are always on."
          action=${() => turn({ packs: { [name]: false } })} />
      `}
      <ul class="entries">
        ${rules.map(({ id, explanation, risk_score, enabled, watched, fixed }) =>
          html`
            <li key=${id} class="rule">
              <div>
                <code>${id}</code> <span class="soft">score ${risk_score}</span>${" "}
                ${!enabled && html`<${Badge} state="off" tone="bad" />`}
                ${enabled && watched && html`<${Badge} state="only watches" tone="warn" />`}
                <p class="soft">${explanation}</p>
              </div>
              ${may("patterns:write") && pack.enabled && !fixed && html`
                <p class="actions">${waysFrom(enabled, watched, pack.watched).map(([way, label]) =>
                  html`
                    <button type="button" key=${label} disabled=${change.isBusy}
                      aria-label=${`${label} ${id}`}
                      onClick=${() => change.run(() => turn({ rules: { [id]: way } }))}>
                      ${label}
                    </button>
                  `
                )}</p>
              `}
              ${fixed && html`<span class="soft">always on</span>`}
            </li>
          `
        )}
      </ul>
    </details>
  `;
}

/** The other ways to switch a rule; a rule of a pack that only watches cannot decide. */
function waysFrom(enabled: boolean, watched: boolean, packWatches: boolean): [Way, string][] {
  const now: Way = !enabled ? false : watched ? "watch" : true;
  const ways: [Way, string][] = [[true, "Turn on"], ["watch", "Only watch"], [false, "Turn off"]];
  return ways.filter(([way]) =>
    way !== now && !(packWatches && way === (enabled ? true : "watch"))
  );
}
