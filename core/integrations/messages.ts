import { denialAlertId } from "../commands/alerts/denied.ts";
import { ruleOfDenial } from "../events/statistics.ts";
import type { EventRow, EventType } from "../events/events.ts";
import type { Scope } from "../work/scopes.ts";
import type { Matter, Message } from "./service.ts";

/** What an integration can be told of. */
const TOPICS = {
  approvals: "a command waits for approval, and what became of it",
  alerts: "alerts came in, or the shield blocked a command",
  reports: "a compliance report is ready",
} as const;

export type TopicName = keyof typeof TOPICS;

/** Every topic, in the order of the table. */
export const TOPIC_NAMES = Object.keys(TOPICS) as [TopicName, ...TopicName[]];

type Written = Omit<Message, "topic" | "link" | "over">;

/** What is told of one matter alone. */
const ofOne = (
  { key, over, ...told }: Omit<Written, "matters"> & Pick<Matter, "key" | "over">,
): Written => {
  const { title, severity, facts: [[, first] = ["", ""]] } = told;
  return { ...told, matters: [{ key, over, severity, summary: `${title}: ${first}` }] };
};

interface Telling {
  readonly topic: TopicName;
  /** The right that whoever installed the integration needs now. */
  readonly scope: Scope;
  /** Null for an event that tells nobody anything. */
  readonly write: (row: EventRow, details: Details) => Written | null;
}

type Details = {
  readonly command?: string;
  readonly shield_result?: {
    readonly risk_score: number;
    readonly threats: readonly string[];
  };
  readonly [name: string]: unknown;
};

const text = (value: unknown): string => typeof value === "string" ? value : String(value ?? "");

/** The command as far as the event has it, with a mark where it was cut. */
const commandOf = ({ command, command_truncated }: Details): string =>
  `${text(command)}${command_truncated === true ? "…" : ""}`;

/** Characters that show nothing, or turn round what stands beside them, are named instead. */
const visible = (value: string): string =>
  value.replaceAll(
    /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  );

/** Events of the log that integrations are told of, and in which words. */
const TOLD: Readonly<Partial<Record<EventType, Telling>>> = {
  approval_requested: {
    topic: "approvals",
    scope: "approvals:read",
    write: ({ agent_id }, details) =>
      ofOne({
        title: "A command waits for approval",
        facts: [
          ["Command", commandOf(details)],
          ["Agent", text(agent_id)],
          ["Risk", text(details.shield_result?.risk_score)],
          ["Threats", details.shield_result?.threats.join(", ") || "none named"],
          ["Requested by", text(details["requested_by"])],
          ["Expires", text(details["expires_at"])],
          ["Process", text(details["pid"])],
        ],
        severity: "warning",
        key: text(details["pid"]),
        over: false,
        pid: text(details["pid"]),
      }),
  },
  approval_resolved: {
    topic: "approvals",
    scope: "approvals:read",
    write: (_row, details) =>
      ofOne({
        title: `A command was ${text(details["decision"])}`,
        facts: [
          ["Command", commandOf(details)],
          ["Decided by", text(details["decided_by"] ?? "nobody: its time was over")],
          ...(details["reason"] ? [["Reason", text(details["reason"])] as const] : []),
          ["Process", text(details["pid"])],
        ],
        severity: "info",
        key: text(details["pid"]),
        over: true,
        pid: null,
      }),
  },
  command_denied: {
    topic: "alerts",
    scope: "agents:read",
    write: ({ agent_id, organization_id }, details) =>
      ofOne({
        title: "The shield blocked a command",
        facts: [
          ["Command", commandOf(details)],
          ["Agent", text(agent_id)],
          ["Rule", ruleOfDenial(details)],
          ["Risk", text(details.shield_result?.risk_score)],
        ],
        severity: "critical",
        key: denialAlertId(
          { org: organization_id, space: "live" },
          text(agent_id),
          ruleOfDenial(details),
        ),
        over: false,
        pid: null,
      }),
  },
  alerts_ingested: {
    topic: "alerts",
    scope: "system:read",
    write: (_row, details) => {
      const source = text(details["source"]);
      const raised = (details["raised"] ?? []) as readonly Named[];
      const ended = (details["ended"] ?? []) as readonly Named[];
      if (raised.length + ended.length === 0) return null;
      const matter = (over: boolean) => ({ alert_id, name, severity }: Named) => ({
        key: alert_id,
        over,
        summary: `${name} (${source})`,
        severity,
      });
      const facts = (label: string, alerts: readonly Named[]) =>
        alerts.slice(0, SHOWN_MAX).map(({ name, severity }, n) =>
          [`${label} ${n + 1}`, `${severity}: ${name}`] as const
        );
      return {
        title: raised.length > 0
          ? `${counted(details["opened"], "new alert")} from ${source}`
          : `${counted(details["resolved"], "alert")} from ${source} ended`,
        facts: [...facts("Alert", raised), ...facts("Ended", ended)],
        severity: raised[0]?.severity ?? "info",
        matters: [...raised.map(matter(false)), ...ended.map(matter(true))],
        pid: null,
      };
    },
  },
  alert_resolved: {
    topic: "alerts",
    scope: "system:read",
    write: ({ actor, resource_id }, details) =>
      ofOne({
        title: "An alert was resolved",
        facts: [
          ["Alert", text(details["name"])],
          ["Source", text(details["source"])],
          ["Resolved by", actor],
          ...(details["reason"] ? [["Reason", text(details["reason"])] as const] : []),
        ],
        severity: "info",
        key: resource_id,
        over: true,
        pid: null,
      }),
  },
  compliance_report_generated: {
    topic: "reports",
    scope: "compliance:read",
    write: (_row, details) => {
      const { from, to } = details["period"] as { from: string; to: string };
      return ofOne({
        title: `The ${text(details["type"])} report is ready`,
        facts: [["Report", text(details["report_id"])], ["Period", `${from} to ${to}`]],
        severity: "info",
        key: text(details["report_id"]),
        over: false,
        pid: null,
      });
    },
  },
};

/** One of the alerts that a request opened or ended. */
interface Named extends Pick<Message, "severity"> {
  readonly alert_id: string;
  readonly name: string;
}

/** Alerts of a request that a message shows, of those that opened and of those that ended. */
const SHOWN_MAX = 5;

const counted = (n: unknown, what: string): string => `${n} ${what}${n === 1 ? "" : "s"}`;

/** True for events that some integration may be told of. */
export const isTold = (type: string): boolean => Object.hasOwn(TOLD, type);

/** The rights that open everything of these topics. */
export const rightsFor = (topics: readonly string[]): Scope[] => [
  ...new Set(
    Object.values(TOLD).flatMap(({ topic, scope }) => topics.includes(topic) ? [scope] : []),
  ),
];

/** The topic of an event and the right that it takes; null for events that are not told. */
export function topicOf(type: string): Pick<Telling, "topic" | "scope"> | null {
  return TOLD[type as EventType] ?? null;
}

/** What people are told of an event, or null for nothing. */
export function messageOf(row: EventRow, origin: string): Message | null {
  const telling = TOLD[row.event_type as EventType];
  const written = telling?.write(row, row.details as Details) ?? null;
  if (telling === undefined || written === null) return null;
  return {
    ...written,
    facts: written.facts.map(([name, value]) => [name, visible(value)]),
    matters: written.matters.map((each) => ({ ...each, summary: visible(each.summary) })),
    over: written.matters.every(({ over }) => over),
    topic: telling.topic,
    link: `${origin}${LINKS[telling.topic]}`,
  };
}

/** The part of the documentation page that says how to act, where one can also try it. */
const LINKS: Readonly<Record<TopicName, string>> = {
  approvals: "/docs#approvals.list",
  alerts: "/docs#alerts.list",
  reports: "/docs#compliance.reports",
};
