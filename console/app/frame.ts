import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Scope } from "../../core/client/client.ts";
import { useEffect } from "preact/hooks";
import { space } from "./space.ts";
import { Help } from "./components/help.ts";
import { ChangeError, useChange } from "./components/form.ts";
import { Palette } from "./components/palette.ts";
import { onOneLine } from "./components/visible_text.ts";
import { html } from "htm/preact";
import { addKeys } from "./keys.ts";
import { connection, startLive, stopLive } from "./live/live.ts";
import { addressOf, go, path, redirect } from "./router.ts";
import type { Screen } from "./screen.ts";
import { SCREENS } from "./screens.ts";
import { may, mayOpen, me, readSession, signOut } from "./session.ts";

const GROUPS = ["Work", "Safety", "Connections", "Organization"] as const;

/** Rights of which the live connection needs one. */
const EVENT_RIGHTS: readonly Scope[] = [
  "agents:read",
  "approvals:read",
  "compliance:read",
  "policy:read",
];

/** What lies over the page. */
const over = signal<"palette" | "help" | null>(null);
const close = () => over.value = null;
/** True while the navigation is open on a phone. */
const menu = signal(false);

/** The frame of all screens: navigation, state of the live connection, space and account. */
export function Frame({ screen, children }: {
  readonly screen: Screen;
  readonly children: ComponentChildren;
}) {
  const isLive = EVENT_RIGHTS.some(may);
  useEffect(() => {
    if (!isLive) return tellWhenSeen();
    startLive();
    return stopLive;
  }, [isLive]);
  useEffect(() =>
    addKeys([
      {
        key: "Ctrl-K",
        about: "Find agents, commands and settings",
        run: () => over.value = "palette",
      },
      { key: "?", about: "Show these keys", run: () => over.value = "help" },
      { key: "/", about: "Search in the list", run: focusSearch },
    ]), []);
  useEffect(() => void (menu.value = false), [path.value]);
  return html`
    <a class="skip" href="#main">Skip to the content</a>
    <header class="top">
      <button
        type="button" class="menu" aria-expanded=${menu.value} aria-controls="nav"
        onClick=${() => menu.value = !menu.value}
      >Menu</button>
      <a class="brand" href=${addressOf("/")}>Relay</a>
      <${Link} />
      <button type="button" class="find" onClick=${() => over.value = "palette"}>
        Find <kbd>Ctrl K</kbd>
      </button>
      <${Spaces} />
      <${Account} />
    </header>
    <nav id="nav" class=${menu.value ? "nav open" : "nav"} aria-label="Console">
      ${GROUPS.map((group) => html`<${Group} group=${group} screen=${screen} />`)}
      <p><a href="/guides">Guides</a></p>
      <p><a href="/docs">API reference</a></p>
    </nav>
    <main id="main" tabindex="-1">${children}</main>
    ${over.value === "palette" && html`<${Palette} onClose=${close} />`}
    ${over.value === "help" && html`<${Help} onClose=${close} />`}
  `;
}

/** Asks who is signed in when a tab that is not live is looked at again, since nothing else tells it. */
function tellWhenSeen(): () => void {
  const ask = () => {
    if (document.visibilityState === "visible") readSession().catch(() => {});
  };
  document.addEventListener("visibilitychange", ask);
  return () => document.removeEventListener("visibilitychange", ask);
}

function focusSearch(): void {
  document.querySelector<HTMLElement>("#main input[type=search]")?.focus();
}

function Group({ group, screen }: { readonly group: string; readonly screen: Screen }) {
  const shown = SCREENS.filter((one) => one.group === group && mayOpen(one));
  if (shown.length === 0) return null;
  return html`
    <h2>${group}</h2>
    <ul>
      ${shown.map((one) =>
        html`
          <li>
            <a href=${addressOf(one.path)} aria-current=${isWithin(one, screen)
              ? "page"
              : undefined}>
              ${one.title}
            </a>
          </li>
        `
      )}
    </ul>
  `;
}

/** True when a screen is this one or one below it, such as an agent below the agents. */
const isWithin = (one: Screen, screen: Screen): boolean =>
  one === screen || one.path !== "/" && screen.path.startsWith(`${one.path}/`);

/** Says when the page is not live, so that nobody takes an old list for the present one. */
function Link() {
  const state = connection.value;
  return html`
    <p class=${`link ${state}`} role="status">
      ${{ connecting: "", live: "Live", lost: "Not live: reconnecting…" }[state]}
    </p>
  `;
}

function Spaces() {
  const change = (event: Event) => {
    space.value = (event.target as HTMLSelectElement).value as typeof space.value;
    go("/");
  };
  return html`
    <label class=${`space ${space.value}`}>
      <span class="unseen">Space</span>
      <select value=${space.value} onChange=${change}>
        <option value="live">Live</option>
        <option value="test">Test</option>
      </select>
    </label>
  `;
}

function Account() {
  const { user, organization } = me.value!;
  const change = useChange();
  const leave = (everywhere: boolean) =>
    change.run(async () => {
      await signOut(everywhere);
      // The next person does not go on where this one was.
      redirect("/sign-in");
    });
  // The key closes the menu when its link, or another one, was followed.
  return html`
    <details class="account" key=${path.value}>
      <summary>${user.email}</summary>
      <div>
        <p>${onOneLine(organization.name)}</p>
        <p><a href=${addressOf("/settings")}>Settings</a></p>
        <button type="button" disabled=${change.isBusy} onClick=${() => leave(false)}>
          Sign out
        </button>
        <button type="button" disabled=${change.isBusy} onClick=${() => leave(true)}>
          Sign out everywhere
        </button>
        <${ChangeError} change=${change} />
      </div>
    </details>
  `;
}
