import { computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import { type Space, space } from "../space.ts";
import { expired, me, readSession } from "../session.ts";
import { openLink, openLocalLink, type SendToHub } from "./link.ts";
import type { Change, FromHub, LinkState, OutputMessage, Wish } from "./messages.ts";

export type { Change, OutputMessage } from "./messages.ts";

const state = signal<LinkState>("connecting");
/** The link to the relay, which all tabs of the browser share. `lost` after a second without it. */
export const connection: ReadonlySignal<LinkState> = state;

const changeListeners = new Set<(change: Change) => void>();
const notificationListeners = new Set<(notification: unknown) => void>();

/** True from the end of a session until it is known who is signed in now. */
const isAsking = signal(false);
/** Whose rows this tab shows, and in which space; null while nobody is known to be signed in. */
const shown = computed(() => {
  const info = expired.value || isAsking.value ? null : me.value;
  return info ? `${info.organization.id}/${info.user.id} ${space.value}` : null;
});

/** An output that this tab follows. */
interface Following extends Wish {
  from: number;
  readonly listener: (message: OutputMessage) => void;
}

const following = new Map<number, Following>();
let lastKey = 0;
let send: SendToHub | null = null;
let stop: (() => void) | null = null;

/** Connects this tab, as the signed-in user and in the space that is shown. Does nothing if it is connected. */
export function startLive(): void {
  if (stop !== null) return;
  send ??= openLink(document.body.dataset.worker!, receive, () => {
    send = openLocalLink(receive);
    if (stop !== null) attach();
  });
  const pages = new AbortController();
  addEventListener("pagehide", () => send!({ type: "detach" }), pages);
  addEventListener("pageshow", ({ persisted }) => persisted && attach(), pages);
  const stopAttaching = effect(attach);
  stop = () => {
    stopAttaching();
    pages.abort();
    send!({ type: "detach" });
  };
}

/** Disconnects this tab. Its followed outputs end without a message. */
export function stopLive(): void {
  stop?.();
  stop = null;
  following.clear();
  state.value = "connecting";
}

/** Calls `listener` with each resource that changed, and with null when any may have; returns how to stop. */
export const onChanged = (listener: (change: Change) => void): () => void =>
  added(changeListeners, listener);

/** Calls `listener` with each new notification of the user; returns how to stop. */
export const onNotification = (listener: (notification: unknown) => void): () => void =>
  added(notificationListeners, listener);

/**
 * Calls `listener` with a command's output from an offset on, without gap or repetition, whatever happens to the link;
 * the last message is `result` or `refused`. Returns how to stop.
 */
export function followOutput(
  wish: Wish,
  listener: (message: OutputMessage) => void,
): () => void {
  const key = ++lastKey;
  following.set(key, { ...wish, listener });
  send?.({ type: "follow", key, ...wish });
  return () => {
    if (following.delete(key)) send?.({ type: "unfollow", key });
  };
}

/** Joins the hub anew, with everything that this tab follows. */
function attach(): void {
  if (shown.value === null) {
    // A tab whose session has ended stays, to hear of a sign-in in another tab.
    if (me.peek() === null) send!({ type: "detach" });
    return;
  }
  const [account, of] = shown.value.split(" ") as [string, Space];
  send!({ type: "attach", account, space: of });
  for (const [key, { agentId, commandId, from }] of following) {
    send!({ type: "follow", key, agentId, commandId, from });
  }
}

function receive(message: FromHub): void {
  switch (message.type) {
    case "connection":
      state.value = message.state;
      if (message.state === "live" && expired.value) askWhoIsSignedIn();
      return;
    case "changed":
      return changeListeners.forEach((tell) => tell(message.change));
    case "notification":
      return notificationListeners.forEach((tell) => tell(message.notification));
    case "output":
      return receiveOutput(message.key, message.message);
    case "signed_out":
      return askWhoIsSignedIn();
  }
}

function askWhoIsSignedIn(): void {
  isAsking.value = true;
  readSession().catch(() => {}).then(() => isAsking.value = false);
}

function receiveOutput(key: number, message: OutputMessage): void {
  const output = following.get(key);
  if (output === undefined) return;
  if (message.type === "output") output.from = message.next;
  else if (message.type !== "status") following.delete(key);
  output.listener(message);
}

function added<T>(listeners: Set<T>, listener: T): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
