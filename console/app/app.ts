import { effect, signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { RelayError } from "./api.ts";
import { space } from "./space.ts";
import { Failure, Loading } from "./components/states.ts";
import { Frame } from "./frame.ts";
import { html } from "htm/preact";
import { go, matchPath, path } from "./router.ts";
import type { Screen, ScreenProps } from "./screen.ts";
import { SCREENS } from "./screens.ts";
import { expired, mayOpen, me, readSession } from "./session.ts";
import { SignInAgain } from "./components/sign_in_again.ts";

/** The screen of the address, with its code once that is loaded. */
interface Shown {
  readonly at: string;
  readonly screen: Screen;
  readonly props: ScreenProps;
  readonly component: ComponentType<ScreenProps>;
}

const shown = signal<Shown | null>(null);
const failure = signal<unknown>(null);

/** The whole console. */
export function App() {
  useEffect(() => {
    begin();
    return effect(show);
  }, []);
  if (failure.value !== null) {
    return html`
      <main>
        <${Failure} error=${failure.value} again=${begin} />
      </main>
    `;
  }
  if (me.value === undefined || shown.value === null) return html`<${Loading} />`;
  const { at, screen, props, component } = shown.value;
  // Another person may sign in in another tab: their screen begins anew, so nobody sends what somebody else typed.
  const key = screen.public ? at : `${me.value?.user.id} ${at}`;
  const page = html`<${component} key=${key} ...${props} />`;
  if (screen.public || me.value === null) return html`<main id="main" class="alone">${page}</main>`;
  const content = !mayOpen(screen)
    ? html`<${NotPermitted} screen=${screen} />`
    : screen.liveOnly && space.value === "test"
    ? html`<${LiveOnly} screen=${screen} />`
    : page;
  return html`
    <${Frame} screen=${screen}>
      ${content}
    <//>
    ${expired.value && html`<${SignInAgain} />`}
  `;
}

function begin(): void {
  failure.value = null;
  readSession().catch((error) => failure.value = error);
}

/** Shows the screen of the address, or the sign-in for people without a session. */
function show(): void {
  const at = path.value;
  if (me.value === undefined) return;
  const found = screenAt(at);
  if (found === null) return go("/");
  if (me.value === null && !found.screen.public) {
    const next = (location.pathname + location.search + location.hash).slice("/console".length);
    return go("/sign-in", next === "" ? {} : { next });
  }
  found.screen.load().then(({ default: component }) => {
    if (path.value !== at) return;
    document.title = `${found.screen.title} · Relay`;
    failure.value = null;
    shown.value = { at, ...found, component };
  }, () => failure.value = new RelayError(UPGRADED, { status: 0, code: "UNREACHED", path: at }));
}

const UPGRADED = "This part of the console could not be loaded. Relay may be starting, or was " +
  "upgraded: reload the page.";

function screenAt(at: string): { screen: Screen; props: ScreenProps } | null {
  for (const screen of SCREENS) {
    const props = matchPath(screen.path, at);
    if (props !== null) return { screen, props };
  }
  return null;
}

function NotPermitted({ screen }: { readonly screen: Screen }) {
  return html`
    <section class="empty">
      <h1>${screen.title}</h1>
      <p>
        ${screen.hostOnly &&
          "Only the host organization has this screen."} You need the right ${(screen.needs ?? [])
          .map((right) =>
            html`
              <code>${right}</code>
            `
          )} to see
        this. Ask an administrator of your organization.
      </p>
    </section>
  `;
}

function LiveOnly({ screen: { title, path } }: { readonly screen: Screen }) {
  const switchToLive = () => {
    space.value = "live";
    go(path);
  };
  return html`
    <section class="empty">
      <h1>${title}</h1>
      <p>The test space has none of its own: these belong to the whole organization.</p>
      <button type="button" class="primary" onClick=${switchToLive}>Show the live space</button>
    </section>
  `;
}
