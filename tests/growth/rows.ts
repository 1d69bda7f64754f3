import { cursorText } from "../../core/events/trail/search_cursor.ts";
import {
  EVENT_GAP_MS,
  fillAgents,
  fillEvents,
  fillOrganizations,
  fillPolicies,
  fillWebhooks,
  type Owner,
} from "./fills.ts";
import type { GrownRelay } from "./relay.ts";

/** One dimension in which a relay grows. */
export interface Row {
  readonly sizes: readonly number[];
  /** Returns ids of events, if it makes any that count. */
  readonly fill: (
    relay: GrownRelay,
    owner: Owner,
    size: number,
    receiver: string,
  ) => Promise<string[] | void>;
  /** How long ago the first event was, if that is long. */
  readonly lastsMs?: (size: number) => number;
  /** The list of what there are many of. */
  readonly list: string;
  /** The query of a page in the middle, as far as pages can go. */
  readonly middle: (size: number) => string;
}

/** How far a list can be paged through. */
const OFFSET_MAX = 10_000;
const middleOffset = (size: number) => `offset=${Math.min(OFFSET_MAX, Math.floor(size / 2))}`;

/** The webhooks of the row of that name want this type of event, all but one. */
export const WANTED_BY_ALL = "agent_deleted";

export const ROWS: Readonly<Record<string, Row>> = {
  agents: {
    sizes: [1, 10, 100, 1_000, 10_000],
    // The agent that answers is one of them.
    fill: (relay, owner, size) => fillAgents(relay, owner, size - 1),
    list: "/api/v1/agents",
    middle: middleOffset,
  },
  events: {
    sizes: [10_000, 100_000, 1_000_000, 10_000_000],
    fill: fillEvents,
    lastsMs: (size) => size * EVENT_GAP_MS,
    list: "/api/audit",
    middle: (size) => {
      const before = Math.floor(size / 2);
      return `cursor=${cursorText({ before, total: { total: size, exact: true } })}`;
    },
  },
  organizations: {
    sizes: [1, 10, 100, 1_000],
    fill: (relay, _owner, size) => fillOrganizations(relay, size - 1),
    list: "/api/admin/accounts",
    middle: middleOffset,
  },
  webhooks: {
    sizes: [10, 100, 1_000],
    // One more wants another type.
    fill: (relay, owner, size, receiver) =>
      fillWebhooks(relay, owner, receiver, [WANTED_BY_ALL], size - 1),
    list: "/api/v1/webhooks",
    middle: middleOffset,
  },
  policies: {
    sizes: [1, 10, 100, 200],
    fill: fillPolicies,
    list: "/api/v1/gitops/policies",
    middle: middleOffset,
  },
};
