import { signal } from "@preact/signals";

/** The two spaces of an organization, which share people, plans and limits. */
export type Space = "live" | "test";

/** The space that an address names by its query. */
export const spaceIn = (search: string): Space =>
  new URLSearchParams(search).get("space") === "test" ? "test" : "live";

/** The space that the pages show. The address says it too, so that a link opens the same rows for everybody. */
export const space = signal<Space>(spaceIn(location.search));
