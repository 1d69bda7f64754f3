import type { EventRow, EventType } from "../events.ts";
import type { Scope } from "../scopes.ts";
import type { Message } from "./service.ts";

/** What an integration can be told of. */
export const TOPICS = {
  approvals: "a command waits for approval, and what became of it",
  alerts: "alerts came in, or the shield blocked a command",
  reports: "a compliance report is ready",
} as const;

export type TopicName = keyof typeof TOPICS;

/** Every topic, in the order of the table. */
export const TOPIC_NAMES = Object.keys(TOPICS) as [TopicName, ...TopicName[]];

type Written = Omit<Message, "topic" | "link">;

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
    write: ({ agent_id }, details) => ({
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
      matter: text(details["pid"]),
      over: false,
      pid: text(details["pid"]),
    }),
  },
  approval_resolved: {
    topic: "approvals",
    scope: "approvals:read",
    write: (_row, details) => ({
      title: `A command was ${text(details["decision"])}`,
      facts: [
        ["Command", commandOf(details)],
        ["Decided by", text(details["decided_by"] ?? "nobody: its time was over")],
        ...(details["reason"] ? [["Reason", text(details["reason"])] as const] : []),
        ["Process", text(details["pid"])],
      ],
      severity: "info",
      matter: text(details["pid"]),
      over: true,
      pid: null,
    }),
  },
  command_denied: {
    topic: "alerts",
    scope: "agents:read",
    write: ({ agent_id }, details) => ({
      title: "The shield blocked a command",
      facts: [
        ["Command", commandOf(details)],
        ["Agent", text(agent_id)],
        ["Rule", text(details["policy_id"])],
        ["Risk", text(details.shield_result?.risk_score)],
      ],
      severity: "critical",
      matter: `${text(agent_id)}/${text(details["policy_id"])}`,
      over: false,
      pid: null,
    }),
  },
  alerts_ingested: {
    topic: "alerts",
    scope: "system:read",
    write: (_row, details) => {
      const raised = (details["raised"] ?? []) as readonly Raised[];
      if (raised.length === 0) return null;
      const worst = raised[0]!.severity;
      return {
        title: `${details["created"]} new alerts from ${text(details["source"])}`,
        facts: raised.map(({ name, severity }, n) => [`Alert ${n + 1}`, `${severity}: ${name}`]),
        severity: worst,
        matter: `alerts/${text(details["source"])}`,
        over: false,
        pid: null,
      };
    },
  },
  compliance_report_generated: {
    topic: "reports",
    scope: "compliance:read",
    write: (_row, details) => {
      const { from, to } = details["period"] as { from: string; to: string };
      return {
        title: `The ${text(details["type"])} report is ready`,
        facts: [["Report", text(details["report_id"])], ["Period", `${from} to ${to}`]],
        severity: "info",
        matter: text(details["report_id"]),
        over: false,
        pid: null,
      };
    },
  },
};

/** One of the alerts that a request brought first. */
export interface Raised {
  readonly name: string;
  readonly severity: Message["severity"];
}

/** True for events that some integration may be told of. */
export const isTold = (type: string): boolean => Object.hasOwn(TOLD, type);

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
