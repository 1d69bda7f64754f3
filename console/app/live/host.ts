import type { Space } from "../space.ts";

/** A WebSocket, as the hub uses it. */
export interface Socket {
  onmessage: ((event: { readonly data: string }) => void) | null;
  onclose: ((event: { readonly code: number }) => void) | null;
  send(text: string): void;
  close(): void;
}

/** What the hub needs of the browser. Tests pass their own. */
export interface Host {
  /** Opens an event stream of the signed-in user that resumes after this id. */
  open(space: Space, lastId: string | null): Socket;
  /** True when the relay answers that nobody is signed in: a refused WebSocket does not say why. */
  isSignedOut(): Promise<boolean>;
  /** Runs once after a time; returns how to cancel. */
  after(ms: number, run: () => void): () => void;
  /** A number from 0 to below 1. */
  random(): number;
}

/** The present page or worker. */
export const browserHost: Host = {
  open(space, lastId) {
    const url = new URL("/ws?types=changed,notification", location.origin);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    if (lastId !== null) url.searchParams.set("last_event_id", lastId);
    return new WebSocket(url, ["relay.events.batches.v1", `relay.space.${space}`]) as Socket;
  },
  async isSignedOut() {
    try {
      // Browsers report each 401, and this is always 200.
      const { signed_in } = await (await fetch("/api/v1/console-session")).json();
      return signed_in === false;
    } catch {
      return false;
    }
  },
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};
