import { batch, computed, effect, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call } from "../api.ts";
import { space } from "../space.ts";
import { oneAtATime, onStale } from "../data.ts";
import { html } from "htm/preact";
import { addressOf } from "../router.ts";
import { may, me } from "../session.ts";
import { onOneLine } from "./visible_text.ts";

/** The names of people, keys and agents that the viewer may read, by id. */
export const names = signal<ReadonlyMap<string, string>>(new Map());

const LIMIT = 200;
/** The most agents that are asked for one by one; then the names are forgotten, and those shown are asked for anew. */
const ASKED_MAX = 1_000;
/** Agents come and go often, and their names seldom change. */
const EVERY_MS = 3_000;

const NONE: ReadonlyMap<string, string> = new Map();

/**
 * Loads the names, anew after changes, for screens whose rows name others by their id only. What may not be read has
 * no name, unless the screen knows `more`.
 */
export function useNames(more = NONE): void {
  const reader = whose.value;
  useEffect(() => {
    const abort = new AbortController();
    names.value = new Map([...names.value, ...more]);
    const load = oneAtATime(abort.signal, async () => {
      const loaded = await loadNames(abort.signal);
      if (!abort.signal.aborted) names.value = new Map([...more, ...loaded]);
    }, () => {});
    load();
    const stop = onStale({ types: ["agent", "api_key", "user"], everyMs: EVERY_MS }, load);
    return () => {
      abort.abort();
      stop();
    };
  }, [reader, more]);
}

async function loadNames(signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const { user } = me.value!;
  const options = { query: { limit: LIMIT }, signal };
  const [people, keys, agents] = await Promise.all([
    // People are listed in the live space only.
    may("system:read") && space.value === "live"
      ? call("users.list", options).then(({ users }) => users)
      : [],
    call("api_keys.list", options).then(({ api_keys }) => api_keys, () => []),
    may("agents:read") ? call("agents.list", options).then(({ agents }) => agents) : [],
  ]);
  return new Map([
    [user.id, user.email],
    ...people.map(({ id, email }) => [id, email] as const),
    ...keys.map(({ id, name }) => [id, name] as const),
    ...agents.map(({ id, name }) => [id, name] as const),
  ]);
}

/** The names of agents beyond the first page, which are asked for one by one when they are shown. */
const others = signal(NONE);
let asked = new Set<string>();

/** Who reads the names, and in which space: they are not for the next person who signs in here. */
const whose = computed(() => `${me.value?.user.id} ${space.value}`);
effect(() => {
  void whose.value;
  forget();
});

function forget(): void {
  asked = new Set();
  batch(() => names.value = others.value = NONE);
}

async function askForAgent(id: string): Promise<void> {
  if (asked.has(id)) return;
  if (asked.size >= ASKED_MAX) {
    asked = new Set();
    others.value = NONE;
  }
  const now = asked.add(id);
  const found = await call("agents.get", { params: { id } }).catch(() => null);
  // The viewer, or the space, may be another one by now.
  if (found !== null && now === asked) others.value = new Map([...others.value, [id, found.name]]);
}

/** Where a thing with this id is shown, by the kind that its id names; null when no screen shows one. */
export function screenOf(id: string): string | null {
  const screens = {
    agt: "/agents",
    alr: "/alerts",
    prc: "/approvals",
    cmd: "/commands",
    flt: "/fleet",
    key: "/keys",
    pol: "/policies",
    rep: "/compliance",
    whk: "/webhooks",
  };
  const kind = id.slice(0, id.indexOf("_"));
  return Object.hasOwn(screens, kind)
    ? `${screens[kind as keyof typeof screens]}/${encodeURIComponent(id)}`
    : null;
}

/** The name of what has this id, with the id as its tooltip; the id itself where the name is not known. */
export function Name({ id, linked = false }: { readonly id: string; readonly linked?: boolean }) {
  const name = names.value.get(id) ?? others.value.get(id);
  const isUnknown = name === undefined && names.value.size > 0;
  useEffect(() => {
    if (isUnknown && id.startsWith("agt_") && may("agents:read")) askForAgent(id);
  }, [id, isUnknown]);
  const shown = onOneLine(name ?? id);
  const to = linked ? screenOf(id) : null;
  return to === null
    ? html`<span title=${id}>${shown}</span>`
    : html`<a href=${addressOf(to)} title=${id}>${shown}</a>`;
}
