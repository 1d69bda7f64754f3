import { approvalPage, denialAlertId } from "../../agents/agents.ts";
import { type EventRow, ruleOfDenial } from "../../events/events.ts";
import type { Message, Subject } from "./service.ts";
import { isTopicEvent, type TopicEvent, type TopicName, topicOf } from "./topics.ts";

type Draft = Omit<Message, "topic" | "link" | "resolved">;

/** A message about one subject. */
const about = (
  { key, resolved, ...draft }: Omit<Draft, "subjects"> & Pick<Subject, "key" | "resolved">,
): Draft => {
  const { title, severity, facts: [[, first] = ["", ""]] } = draft;
  return { ...draft, subjects: [{ key, resolved, severity, summary: `${title}: ${first}` }] };
};

type Details = {
  readonly command?: string;
  readonly shield_result?: {
    readonly risk_score: number;
    readonly threats: readonly string[];
  };
  readonly [name: string]: unknown;
};

const text = (value: unknown): string => typeof value === "string" ? value : String(value ?? "");

/** The command in the event, with `…` when it was cut. */
const commandOf = ({ command, command_truncated }: Details): string =>
  `${text(command)}${command_truncated === true ? "…" : ""}`;

/** The agents of a fleet command: the first by name, and the number of the others. */
function agentsIn({ agents, agent_names }: Details): string {
  const names = (agent_names ?? []) as readonly string[];
  const others = Number(agents) - names.length;
  if (names.length === 0) return `${others} agents`;
  return `${names.join(", ")}${others === 0 ? "" : ` and ${others} more`}`;
}

/** Escapes invisible characters and those that change the direction of text. */
const visible = (value: string): string =>
  value.replaceAll(
    /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  );

/** The message of each event type; null for an event without one. */
const MESSAGES: Readonly<Record<TopicEvent, (row: EventRow, details: Details) => Draft | null>> = {
  approval_requested: ({ agent_id }, details) =>
    about({
      title: "A command waits for approval",
      facts: [
        ["Command", commandOf(details)],
        agent_id === undefined ? ["Agents", agentsIn(details)] : ["Agent", agent_id],
        ["Risk", text(details.shield_result?.risk_score)],
        ["Threats", details.shield_result?.threats.join(", ") || "none named"],
        ["Requested by", text(details["requested_by"])],
        ["Expires", text(details["expires_at"])],
        ["Process", text(details["pid"])],
      ],
      severity: "warning",
      key: text(details["pid"]),
      resolved: false,
      pid: text(details["pid"]),
    }),
  approval_resolved: (_row, details) =>
    about({
      title: `A command was ${text(details["decision"])}`,
      facts: [
        ["Command", commandOf(details)],
        ["Decided by", text(details["decided_by"] ?? "nobody: it expired")],
        ...(details["reason"] ? [["Reason", text(details["reason"])] as const] : []),
        ["Process", text(details["pid"])],
      ],
      severity: "info",
      key: text(details["pid"]),
      resolved: true,
      pid: null,
    }),
  command_denied: ({ agent_id, organization_id }, details) =>
    about({
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
      resolved: false,
      pid: null,
    }),
  alerts_ingested: (_row, details) => {
    const source = text(details["source"]);
    const raised = (details["raised"] ?? []) as readonly Named[];
    const ended = (details["ended"] ?? []) as readonly Named[];
    if (raised.length + ended.length === 0) return null;
    const subject = (resolved: boolean) => ({ alert_id, name, severity }: Named) => ({
      key: alert_id,
      resolved,
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
      subjects: [...raised.map(subject(false)), ...ended.map(subject(true))],
      pid: null,
    };
  },
  alert_resolved: ({ actor, resource_id }, details) =>
    about({
      title: "An alert was resolved",
      facts: [
        ["Alert", text(details["name"])],
        ["Source", text(details["source"])],
        ["Resolved by", actor],
        ...(details["reason"] ? [["Reason", text(details["reason"])] as const] : []),
      ],
      severity: "info",
      key: resource_id,
      resolved: true,
      pid: null,
    }),
  compliance_report_generated: (_row, details) => {
    const { from, to } = details["period"] as { from: string; to: string };
    return about({
      title: `The ${text(details["type"])} report is ready`,
      facts: [["Report", text(details["report_id"])], ["Period", `${from} to ${to}`]],
      severity: "info",
      key: text(details["report_id"]),
      resolved: false,
      pid: null,
    });
  },
};

/** An alert that a request opened or ended. */
interface Named extends Pick<Message, "severity"> {
  readonly alert_id: string;
  readonly name: string;
}

/** Alerts that a message lists, each of opened and ended ones. */
const SHOWN_MAX = 5;

const counted = (n: unknown, what: string): string => `${n} ${what}${n === 1 ? "" : "s"}`;

/** The message about an event; null for none. `origin` is where the console is served. */
export function messageOf(row: EventRow, origin: string): Message | null {
  const type = row.event_type;
  const draft = isTopicEvent(type) ? MESSAGES[type](row, row.details as Details) : null;
  if (draft === null) return null;
  const { topic } = topicOf(type)!;
  return {
    ...draft,
    facts: draft.facts.map(([name, value]) => [name, visible(value)]),
    subjects: draft.subjects.map((each) => ({ ...each, summary: visible(each.summary) })),
    resolved: draft.subjects.every(({ resolved }) => resolved),
    topic,
    link: `${origin}${PAGES[topic](draft.subjects[0]!.key)}`,
  };
}

/** The page of the console where the reader can act. Only the live space has messages. */
const PAGES: Readonly<Record<TopicName, (key: string) => string>> = {
  approvals: (pid) => approvalPage({ space: "live" }, pid),
  alerts: () => "/console/alerts",
  reports: (id) => `/console/compliance/${id}`,
};
