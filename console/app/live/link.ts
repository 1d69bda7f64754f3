import type { FromHub, HoldsLock, ToHub } from "./messages.ts";

/** How this tab speaks to the hub. */
export type SendToHub = (message: ToHub) => void;

/**
 * Opens the way to the hub: in the SharedWorker at this address or, where the browser has none, such as Chrome on
 * Android, in this tab. `failed` is called when the worker cannot run.
 */
export function openLink(
  address: string,
  receive: (message: FromHub) => void,
  failed: () => void,
): SendToHub {
  if (typeof SharedWorker === "undefined") return openLocalLink(receive);
  const worker = new SharedWorker(address, { name: "relay-live", type: "module" });
  const { port } = worker;
  worker.onerror = () => {
    worker.onerror = port.onmessage = null;
    failed();
  };
  port.onmessage = ({ data }: MessageEvent<FromHub>) => receive(data);
  holdLock((message) => port.postMessage(message));
  return (message) => port.postMessage(message);
}

/** Runs the hub in this tab. */
export function openLocalLink(receive: (message: FromHub) => void): SendToHub {
  const joined = Promise.all([import("./hub.ts"), import("./host.ts")])
    .then(([{ Hub }, { browserHost }]) => new Hub(browserHost).join(receive));
  return (message) => joined.then((tab) => tab.receive(message));
}

/** Holds a lock until this tab ends, however it ends, and tells the worker its name. */
function holdLock(tell: (message: HoldsLock) => void): void {
  const lock = `relay-tab-${crypto.randomUUID()}`;
  navigator.locks.request(lock, () => {
    tell({ type: "holds_lock", lock });
    return new Promise(() => {});
  });
}
