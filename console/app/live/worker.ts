import { browserHost } from "./host.ts";
import { Hub } from "./hub.ts";
import type { HoldsLock, ToHub } from "./messages.ts";

/** The scope of a SharedWorker, as far as it is used here. */
interface WorkerScope {
  onconnect: ((event: { readonly ports: readonly MessagePort[] }) => void) | null;
}

const hub = new Hub(browserHost);

(globalThis as unknown as WorkerScope).onconnect = ({ ports: [port] }) => {
  const tab = hub.join((message) => port!.postMessage(message));
  port!.onmessage = ({ data }: MessageEvent<ToHub | HoldsLock>) => {
    if (data.type !== "holds_lock") return tab.receive(data);
    // A tab that crashed says nothing, but its lock becomes free.
    navigator.locks.request(data.lock, () => tab.leave());
  };
};
