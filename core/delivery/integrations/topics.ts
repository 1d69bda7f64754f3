import type { EventType } from "../../events/events.ts";
import type { Scope } from "../../identity/identity.ts";

/** The events of each topic, with the right that an integration needs to receive them. */
const TOPICS = {
  approvals: {
    approval_requested: "approvals:read",
    approval_resolved: "approvals:read",
  },
  alerts: {
    command_denied: "agents:read",
    alerts_ingested: "system:read",
    alert_resolved: "system:read",
  },
  reports: { compliance_report_generated: "compliance:read" },
} as const satisfies Readonly<Record<string, Partial<Record<EventType, Scope>>>>;

/** A topic that integrations subscribe to. */
export type TopicName = keyof typeof TOPICS;

/** Every topic, in the order of the table. */
export const TOPIC_NAMES = Object.keys(TOPICS) as [TopicName, ...TopicName[]];

type EventsOf<T> = T extends unknown ? keyof T : never;

/** An event type of some topic. */
export type TopicEvent = EventsOf<(typeof TOPICS)[TopicName]>;

interface Topic {
  readonly topic: TopicName;
  readonly scope: Scope;
}

const BY_EVENT: ReadonlyMap<string, Topic> = new Map(
  TOPIC_NAMES.flatMap((topic) =>
    Object.entries(TOPICS[topic]).map(([type, scope]) => [type, { topic, scope }] as const)
  ),
);

/** The topic of an event type and the right it needs; null for types of no topic. */
export const topicOf = (type: string): Topic | null => BY_EVENT.get(type) ?? null;

/** True for event types of some topic. */
export const isTopicEvent = (type: string): type is TopicEvent => BY_EVENT.has(type);

/** The rights that together give access to every event of these topics. */
export const rightsFor = (topics: readonly string[]): Scope[] => [
  ...new Set(
    [...BY_EVENT.values()].flatMap(({ topic, scope }) => topics.includes(topic) ? [scope] : []),
  ),
];
