import type { ReportType } from "../../../kv/records/report.ts";
import type { QueryName } from "./queries.ts";

/** The sections of a pack besides the counts. */
export type Section = "policies" | "approvals" | "access" | "commands";

/** The title and sections of each report type. */
export const REPORTS: Readonly<
  Record<ReportType, { readonly title: string; readonly sections: readonly Section[] }>
> = {
  soc2: {
    title: "SOC 2, Trust Services Criteria (2017)",
    sections: ["policies", "approvals", "access"],
  },
  iso27001: {
    title: "ISO/IEC 27001:2022, Annex A",
    sections: ["policies", "approvals", "access"],
  },
  hipaa: {
    title: "HIPAA Security Rule, 45 CFR Part 164 Subpart C",
    sections: ["policies", "approvals", "access"],
  },
  pci: { title: "PCI DSS v4.0.1", sections: ["policies", "approvals", "access"] },
  "access-review": { title: "Access review", sections: ["access"] },
  commands: { title: "Commands", sections: ["policies", "approvals", "commands"] },
};

/** A control that auditors examine, and the rows of the log that are its evidence. */
export interface Control {
  readonly title: string;
  /** Its references by report type; other types omit the control. */
  readonly named: Readonly<Partial<Record<ReportType, readonly string[]>>>;
  readonly queries: readonly QueryName[];
  /** What the counts show. */
  readonly shows: string;
  /** What cannot be concluded from them. */
  readonly does_not_show: string;
}

/** Every control with its references in all report types. */
export const CONTROLS: readonly Control[] = [
  {
    title: "Authentication",
    named: {
      soc2: ["CC6.1"],
      iso27001: ["A.5.17", "A.8.5"],
      hipaa: ["164.308(a)(5)(ii)(C)", "164.312(d)"],
      pci: ["8.3", "10.2.1.4"],
      "access-review": ["Authentication"],
    },
    queries: [
      "sign_ins",
      "terminal_sign_ins",
      "mcp_clients",
      "failed_sign_ins",
      "recovery_sign_ins",
    ],
    shows: "Who signed in to Relay, and which attempts for a known user failed.",
    does_not_show: "Attempts for unknown users, and sign-ins to other systems.",
  },
  {
    title: "Accounts and credentials created, changed and ended",
    named: {
      soc2: ["CC6.2", "CC6.3"],
      iso27001: ["A.5.16", "A.5.18"],
      hipaa: ["164.308(a)(3)(ii)(A)", "164.308(a)(4)(ii)(C)"],
      pci: ["8.2", "8.6", "10.2.1.5"],
      "access-review": ["Changes of access"],
    },
    queries: [
      "users_made",
      "users_switched",
      "roles_changed",
      "factors_changed",
      "account_changed",
      "keys_made",
      "keys_changed",
      "keys_rotated",
      "keys_ended",
    ],
    shows: "Each change of a user's access, a role or an API key, with its actor.",
    does_not_show: "Whether a change was justified.",
  },
  {
    title: "Access is limited to what is granted",
    named: {
      soc2: ["CC6.1", "CC6.3"],
      iso27001: ["A.5.15", "A.8.3"],
      hipaa: ["164.312(a)(1)"],
      pci: ["7.2", "7.3"],
      "access-review": ["Use of access"],
    },
    queries: ["key_uses", "key_uses_denied", "refused_for_rights"],
    shows: "Uses of API keys, and requests refused for missing rights.",
    does_not_show: "Whether the granted rights are the least necessary.",
  },
  {
    title: "Commands on machines are controlled",
    named: {
      soc2: ["CC6.8", "CC7.1"],
      iso27001: ["A.8.2", "A.8.18"],
      hipaa: ["164.312(a)(1)"],
      pci: ["10.2.1.2"],
      commands: ["Commands"],
    },
    queries: [
      "commands_succeeded",
      "commands_failed",
      "commands_without_result",
      "commands_denied",
      "commands_timed_out",
      "commands_cancelled",
    ],
    shows: "Every command requested through Relay that ended or was blocked.",
    does_not_show: "What is done on a machine without Relay.",
  },
  {
    title: "Risky commands are approved by people",
    named: {
      soc2: ["CC6.8", "CC8.1"],
      iso27001: ["A.5.3", "A.8.32"],
      hipaa: ["164.308(a)(3)(ii)(A)"],
      pci: ["6.5.1", "7.2"],
      commands: ["Approvals"],
    },
    queries: [
      "approvals_requested",
      "approvals_given",
      "approvals_granted",
      "approvals_rejected",
      "approvals_lapsed",
      "approvals_by_requester",
      "approvals_given_by_requester",
      "self_approvals",
    ],
    shows: "Each approval request and its outcome, with requester and decider.",
    does_not_show:
      "Whether two credentials belong to one person, because the queries about requesters compare credentials.",
  },
  {
    title: "Changes of policies and settings",
    named: {
      soc2: ["CC8.1"],
      iso27001: ["A.8.9", "A.8.32"],
      hipaa: ["164.308(a)(1)(ii)(B)"],
      pci: ["6.5.1"],
      commands: ["Policies"],
    },
    queries: [
      "policy_changes",
      "policy_sources",
      "policy_syncs_failed",
      "drift_found",
      "drift_ended",
      "shield_changes",
      "settings_reloaded",
      "limits_changed",
      "canary_runs",
    ],
    shows: "Each change of the rules for commands, deviations of agents, and tests of the rules.",
    does_not_show: "Whether the rules are adequate.",
  },
  {
    title: "Machines and outside senders",
    named: {
      soc2: ["CC6.6"],
      iso27001: ["A.5.9", "A.8.20"],
      hipaa: ["164.312(d)"],
      pci: ["8.6", "12.5.1"],
    },
    queries: [
      "agents_changed",
      "agent_restarts",
      "agents_upgraded",
      "agents_lost",
      "agents_backed_up",
      "agents_restored",
      "agents_impersonated",
      "devices_changed",
      "integrations_changed",
      "outside_access_changed",
      "standing_rights",
    ],
    shows: "Agents, devices and outside connections that were added and removed.",
    does_not_show: "Machines without an agent.",
  },
  {
    title: "Incidents are detected and handled",
    named: {
      soc2: ["CC7.2", "CC7.3", "CC7.4"],
      iso27001: ["A.5.25", "A.5.26", "A.8.16"],
      hipaa: ["164.308(a)(6)(ii)"],
      pci: ["10.4", "12.10"],
    },
    queries: ["alerts_taken", "alerts_acknowledged", "alerts_resolved", "proofs_refused"],
    shows: "Alerts received, and alerts resolved by a person.",
    does_not_show: "What was done about an incident outside Relay.",
  },
  {
    title: "The audit log is kept, protected and reviewed",
    named: {
      soc2: ["CC4.1", "CC7.2"],
      iso27001: ["A.5.28", "A.8.15"],
      hipaa: ["164.308(a)(1)(ii)(D)", "164.312(b)", "164.312(c)(1)"],
      pci: ["10.2.1.3", "10.3", "10.5.1"],
      "access-review": ["Reads of the log"],
    },
    queries: [
      "log_read",
      "log_taken",
      "log_proved",
      "reports_made",
      "signing_keys_changed",
      "store_replaced",
    ],
    shows:
      "Each read of the log. The signed checkpoint in this report proves the log as it was read.",
    does_not_show: "Whether a reader drew conclusions.",
  },
];

/** The controls of a report type. */
export const controlsOf = (type: ReportType): readonly Control[] =>
  CONTROLS.filter(({ named }) => named[type] !== undefined);
