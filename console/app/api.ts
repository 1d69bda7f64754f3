import { createClient } from "../../core/client/client.ts";
import { space } from "./space.ts";

export { RelayError } from "../../core/client/client.ts";
export type * from "../../core/client/client.ts";

const clients = {
  live: createClient({ url: location.origin, fetch: (...call) => fetch(...call), space: "live" }),
  test: createClient({ url: location.origin, fetch: (...call) => fetch(...call), space: "test" }),
};

/** Calls an operation of the API in the space that is shown, with the session's cookie. */
export const call: typeof clients.live.call = (id, ...input) =>
  clients[space.value].call(id, ...input);

/** Calls an operation that only the live space has, whichever is shown. */
export const callLive = clients.live.call;

/** Opens an answer whose body the caller reads. */
export const open: typeof clients.live.open = (id, ...input) =>
  clients[space.value].open(id, ...input);
