import { signal } from "@preact/signals";
import { createClient } from "../../core/client/client.ts";

export { RelayError } from "../../core/client/client.ts";
export type * from "../../core/client/client.ts";

/** The space that the pages show. The address says it too, so that a link opens the same rows for everybody. */
export type Space = "live" | "test";
export const space = signal<Space>(
  new URLSearchParams(location.search).get("space") === "test" ? "test" : "live",
);

const clients = {
  live: createClient({ url: location.origin, fetch: (...call) => fetch(...call), space: "live" }),
  test: createClient({ url: location.origin, fetch: (...call) => fetch(...call), space: "test" }),
};

/** Calls an operation of the API in the space that is shown, with the session's cookie. */
export const call: typeof clients.live.call = (id, ...input) =>
  clients[space.value].call(id, ...input);

/** Opens an answer whose body the caller reads. */
export const open: typeof clients.live.open = (id, ...input) =>
  clients[space.value].open(id, ...input);
