import { effect, signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { RelayError } from "../../core/client/client.ts";
import { space } from "./space.ts";
import { Failure, Loading } from "./components/states.ts";
import { Frame } from "./frame.ts";
import { html } from "htm/preact";
import { go, matchPath, path, redirect } from "./router.ts";
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
  useFocusOnArrival(shown.value?.at);
  if (failure.value !== null) {
    return html`
      <main>
        <${Failure} error=${failure.value} again=${begin} />
      </main>
    `;
  }
  if (me.value === undefined || shown.value === null) return html`<${Loading} />`;
  const { at, screen, props, component } = shown.value;
  // After a sign-out, the sign-in may still be loading.
  if (me.value === null && !screen.public) return html`<${Loading} />`;
  // Another person may sign in in another tab: their screen begins anew, so nobody sends what somebody else typed. What
  // was typed for one space is not sent in the other either.
  const key = screen.public ? at : `${me.value!.user.id} ${space.value} ${at}`;
  const page = html`<${component} key=${key} ...${props} />`;
  if (screen.public) {
    return html`<main id="main" class="alone" tabindex="-1">${page}</main>`;
  }
  const content = !mayOpen(screen)
    ? html`<${NotPermitted} screen=${screen} />`
    : screen.liveOnly && space.value === "test"
    ? html`<${LiveOnly} screen=${screen} />`
    : page;
  return html`
    <${Frame} key=${me.value!.user.id} screen=${screen}>
      ${content}
    <//>
    ${expired.value && html`<${SignInAgain} />`}
  `;
}

/** Moves the focus to a screen that was opened from another one, unless the screen took it itself. */
function useFocusOnArrival(at: string | undefined): void {
  const last = useRef(at);
  useEffect(() => {
    const isFirst = last.current === undefined;
    last.current = at;
    const main = document.getElementById("main");
    if (isFirst || main === null || main.contains(document.activeElement)) return;
    main.focus({ preventScroll: true });
  }, [at]);
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
  if (found === null) return redirect("/");
  if (me.value === null && !found.screen.public) {
    const next = (location.pathname + location.search).slice("/console".length);
    // A fragment may hold what no server should see, so it does not become a part of the query.
    return redirect(`/sign-in${location.hash}`, next === "" ? {} : { next });
  }
  found.screen.load().then(({ default: component }) => {
    if (path.value !== at) return;
    document.title = `${found.screen.title} · Relay`;
    failure.value = null;
    shown.value = { at, ...found, component };
  }, () => {
    if (path.value !== at) return;
    failure.value = new RelayError(UPGRADED, { status: 0, code: "UNREACHED", path: at });
  });
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
