import { batch, computed, signal } from "@preact/signals";
import { space, spaceIn } from "./space.ts";

const BASE = "/console";

interface Place {
  /** The path below /console, such as `/agents/agt_1`. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
}

const here = (): Place => ({
  path: location.pathname.slice(BASE.length) || "/",
  query: Object.fromEntries(new URLSearchParams(location.search)),
});

const place = signal<Place>(here());

export const path = computed(() => place.value.path);
/** The filters of a screen are in its address. */
export const query = computed(() => place.value.query);

/** The address of a screen. */
export function addressOf(to: string, filters: Readonly<Record<string, string>> = {}): string {
  const { pathname: bare, search: given, hash } = new URL(to, "http://console");
  const params = new URLSearchParams(given);
  for (const [name, value] of Object.entries(filters)) if (value !== "") params.set(name, value);
  if (space.value === "test") params.set("space", "test");
  const search = `${params}`;
  return `${BASE}${bare === "/" ? "" : bare}${search === "" ? "" : `?${search}`}${hash}`;
}

/** The present screen with some filters changed, to go to. */
export function placeWith(changes: Readonly<Record<string, string>>): string {
  const { path, query } = place.value;
  const { space: _, ...filters } = { ...query, ...changes };
  const search = new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== ""));
  return search.size === 0 ? path : `${path}?${search}`;
}

/** Shows what the address names: a screen, in a space. */
function arrive(): void {
  batch(() => {
    space.value = spaceIn(location.search);
    place.value = here();
  });
}

/** Goes to a screen. */
export function go(to: string, filters?: Readonly<Record<string, string>>): void {
  history.pushState(null, "", addressOf(to, filters));
  arrive();
  scrollTo(0, 0);
}

/** Goes to a screen in place of the present address, to which the browser's back button does not return then. */
export function redirect(to: string, filters?: Readonly<Record<string, string>>): void {
  history.replaceState(null, "", addressOf(to, filters));
  arrive();
  scrollTo(0, 0);
}

/** Remembers the present screen. The result says later whether the viewer is still there, before `go` leads elsewhere. */
export function stillHere(): () => boolean {
  const from = path.peek();
  return () => path.peek() === from;
}

/** Changes filters of the present screen, without an entry in the browser's history for each. */
export function setQuery(changes: Readonly<Record<string, string>>): void {
  const next = { ...place.value.query, ...changes };
  const kept = Object.fromEntries(Object.entries(next).filter(([, value]) => value !== ""));
  history.replaceState(null, "", addressOf(place.value.path, kept) + location.hash);
  place.value = here();
}

/** Follows the browser's buttons and the links of the console. */
export function startRouter(): void {
  addEventListener("popstate", arrive);
  document.addEventListener("click", (event) => {
    const link = (event.target as Element).closest("a");
    if (link === null || event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const { pathname, search, hash } = link;
    const isOurs = link.origin === location.origin && !link.hasAttribute("download") &&
      link.target === "" && (pathname === BASE || pathname.startsWith(`${BASE}/`));
    const isHere = pathname === location.pathname && search === location.search;
    // The browser itself goes to a place on this page.
    if (!isOurs || isHere && hash !== "") return;
    event.preventDefault();
    history.pushState(null, "", pathname + search + hash);
    arrive();
    scrollTo(0, 0);
  });
}

/** The values of a pattern such as `/agents/:id` in a path; null when it does not match. */
export function matchPath(pattern: string, path: string): Readonly<Record<string, string>> | null {
  const [names, parts] = [pattern.split("/"), path.split("/")];
  if (names.length !== parts.length) return null;
  const found: Record<string, string> = {};
  for (const [n, name] of names.entries()) {
    const part = parts[n]!;
    if (name.startsWith(":")) {
      const value = decoded(part);
      if (value === null) return null;
      found[name.slice(1)] = value;
    } else if (name !== part) return null;
  }
  return found;
}

/** A part of a path as text; null when it is malformed. */
function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}
