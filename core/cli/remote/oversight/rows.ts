import { LIMIT, OFFSET, type Option, REASON, type RemoteCommand, YES } from "../command.ts";

const AGENT: Option = { name: "agent", value: "agent", about: "Only what concerns this agent." };
const THREAD: Option = { name: "thread", value: "alert", about: "Only the story of this alert." };
const TYPE: Option = {
  name: "type",
  value: "type",
  many: true,
  about: "Only events of this type.",
};
/** The options that choose rows of the audit log. */
const CHOICE: readonly Option[] = [
  TYPE,
  AGENT,
  { name: "actor", value: "id", about: "Only what this user or key did." },
  { name: "resource", value: "id", about: "Only what was done to this." },
  { name: "result", value: "result", about: "success, failure or denied." },
  THREAD,
  { name: "text", value: "text", about: "Only rows whose details hold this text." },
  { name: "since", value: "time", about: "From this time or date on." },
  { name: "until", value: "time", about: "Until this time, or the end of this date." },
];
const KEY: Option = {
  name: "key",
  value: "key",
  about: "The log's public key, or a file with it. Without it, a forged key is not noticed.",
};
const SOURCE_OF_POLICIES: readonly Option[] = [
  { name: "branch", value: "name", about: "Default: the repository's." },
  { name: "path", value: "path", about: "A file or folder; default: the repository's." },
  { name: "replay", value: "number", about: "Also judge this many of the last commands." },
];

/** The commands that show what happened, and decide what may happen. */
export const OVERSIGHT_ROWS: readonly RemoteCommand[] = [
  {
    name: "audit ls",
    about: "Lists rows of the audit log, newest first.",
    takes: [],
    options: [
      ...CHOICE,
      LIMIT,
      { name: "cursor", value: "cursor", about: "Go on where a page ended." },
    ],
    examples: ["relay audit ls --agent web-1 --since 2026-01-31", "relay audit ls --result denied"],
    load: async () => (await import("./audit.ts")).listAudit,
  },
  {
    name: "audit tail",
    about: "Prints events as they happen, until Ctrl-C; a lost connection loses none.",
    takes: [],
    options: [
      TYPE,
      AGENT,
      THREAD,
      { name: "severity", value: "severity", about: "At least info, warning or critical." },
      { name: "after", value: "position", about: "Go on after the position that Ctrl-C printed." },
      { name: "count", value: "number", about: "End after this many events." },
    ],
    examples: ["relay audit tail --severity warning", "relay audit tail --agent web-1 --json"],
    exits: [["0", "ended by Ctrl-C, or after --count events"]],
    load: async () => (await import("./tail.ts")).tailEvents,
  },
  {
    name: "audit export",
    about: "Exports the audit log, oldest first, with its proof.",
    takes: [],
    options: [
      ...CHOICE,
      {
        name: "format",
        value: "format",
        about: "ndjson (default), json or csv; csv has no proof.",
      },
      { name: "file", value: "path", about: "Write there instead of the standard output." },
    ],
    examples: [
      "relay audit export --file audit.ndjson",
      "relay audit export --format csv --since 2026-01 >audit.csv",
    ],
    load: async () => (await import("./audit.ts")).exportAudit,
  },
  {
    name: "audit verify",
    about: "Checks an export without a relay, or the log of the relay without a file.",
    takes: ["export?"],
    options: [
      KEY,
      {
        name: "checkpoint",
        value: "file",
        about: "A checkpoint kept elsewhere: shows truncation, rollback and forks.",
      },
      {
        name: "consistency",
        value: "file",
        about: "The proof from it, for an export without the rows around it.",
      },
    ],
    examples: [
      'relay audit verify audit.ndjson --key "$PUBLIC_KEY"',
      "relay audit verify --checkpoint witnessed.txt",
    ],
    exits: [
      ["0", "complete and unaltered"],
      ["1", "not so; the output names the first wrong row"],
      ["2", "not checked: wrong arguments, unreadable, refused, or a checkpoint not compared"],
    ],
    load: async () => (await import("./verify.ts")).verify,
  },
  {
    name: "report verify",
    about: "Checks the JSON of a compliance report without a relay.",
    takes: ["report"],
    options: [KEY],
    examples: [
      'relay report verify report.json --key "$PUBLIC_KEY"',
      "relay report verify report.json --json",
    ],
    exits: [
      ["0", "unaltered and signed"],
      ["1", "not so; the output says what differs"],
      ["2", "not checked: wrong arguments, or no report"],
    ],
    load: async () => (await import("./report.ts")).verifyReport,
  },
  {
    name: "evidence verify",
    about: "Checks an archive of evidence without a relay.",
    takes: ["archive"],
    options: [KEY],
    examples: [
      'relay evidence verify evidence-2026-Q3.tar --key "$PUBLIC_KEY"',
      "relay evidence verify evidence-2026-Q3.tar --json",
    ],
    exits: [
      ["0", "complete and unaltered"],
      ["1", "not so; the output names the first file that differs"],
      ["2", "not checked: wrong arguments, or no file"],
    ],
    load: async () => (await import("./evidence.ts")).verifyArchive,
  },
  {
    name: "evidence",
    about: "Takes the evidence of a period as one archive; `evidence verify` checks one.",
    takes: ["period"],
    options: [{ name: "file", value: "path", about: "Default: evidence-<period>.tar." }],
    examples: [
      "relay evidence 2026-Q3",
      "relay evidence 2026-07-01/2026-09-30 --file evidence.tar",
    ],
    load: async () => (await import("./evidence.ts")).takeEvidence,
  },
  {
    name: "alerts ls",
    about: "Lists alerts, newest first.",
    takes: [],
    options: [
      { name: "state", value: "state", about: "active (default) or resolved." },
      { name: "severity", value: "severity", about: "info, warning or critical." },
      { name: "source", value: "source", about: "From this source." },
      { name: "text", value: "text", about: "With this text in the name, source or summary." },
      AGENT,
      LIMIT,
      OFFSET,
    ],
    examples: ["relay alerts ls --severity critical", "relay alerts ls --agent web-1 -q"],
    load: async () => (await import("./alerts.ts")).listAlerts,
  },
  {
    name: "alerts ack",
    about: "Shows others that you look after an alert.",
    takes: ["alert"],
    options: [REASON],
    examples: ["relay alerts ack alr_4f2c8", "relay alerts ack alr_4f2c8 --reason 'on it'"],
    load: async () => (await import("./alerts.ts")).acknowledgeAlert,
  },
  {
    name: "alerts resolve",
    about: "Resolves an alert. A new report of its source opens it again.",
    takes: ["alert"],
    options: [REASON],
    examples: ["relay alerts resolve alr_4f2c8", "relay alerts resolve alr_4f2c8 --reason cleaned"],
    load: async () => (await import("./alerts.ts")).resolveAlert,
  },
  {
    name: "webhooks ls",
    about: "Lists webhooks.",
    takes: [],
    options: [LIMIT, OFFSET],
    examples: ["relay webhooks ls", "relay webhooks ls --json"],
    load: async () => (await import("./webhooks.ts")).listWebhooks,
  },
  {
    name: "webhooks create",
    about: "Creates a webhook and prints its signing secret, once.",
    takes: ["name", "address"],
    options: [
      { ...TYPE, about: "An event type that it gets." },
      { name: "header", value: "name: value", many: true, about: "A header of each delivery." },
      {
        name: "secret-stdin",
        about: "Read the secret from the standard input; default: a new one.",
      },
      { name: "inactive", about: "Hold deliveries until it is enabled." },
    ],
    examples: [
      "relay webhooks create ops https://hooks.example.com/x --type command_denied",
      "relay webhooks create ci https://ci.example.com --type command_executed --inactive",
    ],
    load: async () => (await import("./webhooks.ts")).createWebhook,
  },
  {
    name: "webhooks deliveries",
    about: "Lists a webhook's deliveries, newest first.",
    takes: ["webhook"],
    options: [
      { name: "status", value: "status", about: "Only deliveries with this status." },
      { name: "type", value: "type", about: "Only deliveries of events of this type." },
      LIMIT,
      OFFSET,
    ],
    examples: [
      "relay webhooks deliveries whk_0m3x1",
      "relay webhooks deliveries whk_0m3x1 --status exhausted",
    ],
    load: async () => (await import("./webhooks.ts")).listDeliveries,
  },
  {
    name: "webhooks resend",
    about: "Sends a delivery again, under the same id.",
    takes: ["webhook", "delivery"],
    options: [],
    examples: [
      "relay webhooks resend whk_0m3x1 dlv_0m3x2",
      "relay webhooks resend whk_0m3x1 dlv_0m3x2 --json",
    ],
    load: async () => (await import("./webhooks.ts")).resendDelivery,
  },
  {
    name: "webhooks trigger",
    about: "Sends a test to a webhook: a ping, or the example of an event type.",
    takes: ["webhook"],
    options: [{ name: "type", value: "type", about: "Default: ping." }],
    examples: [
      "relay webhooks trigger whk_0m3x1",
      "relay webhooks trigger whk_0m3x1 --type command_denied",
    ],
    load: async () => (await import("./webhooks.ts")).triggerWebhook,
  },
  {
    name: "listen",
    about: "Sends the relay's events to a local address, signed like webhooks, until Ctrl-C.",
    takes: [],
    options: [
      { name: "forward", value: "address", about: "The local address; needed." },
      TYPE,
      {
        name: "secret-stdin",
        about: "Read the secret from the input; else RELAY_WEBHOOK_SECRET, or a new one.",
      },
      {
        name: "since",
        value: "number",
        about: "Begin after this event; default: new events only.",
      },
    ],
    examples: [
      "relay listen --forward http://localhost:3000/hook",
      "relay listen --forward http://localhost:3000/hook --type command_denied",
    ],
    exits: [["0", "ended by Ctrl-C"]],
    load: async () => (await import("./listen.ts")).listen,
  },
  {
    name: "shield test",
    about: "Judges a command without running it. Modes and the behaviour of sessions are left out.",
    takes: ["command"],
    options: [
      { name: "agent", value: "agent", about: "Judge as for this agent, by its labels." },
      {
        name: "label",
        value: "key=value",
        letter: "l",
        many: true,
        about: "A label of the agent.",
      },
    ],
    examples: [
      "relay shield test 'rm -rf /'",
      "relay shield test 'systemctl stop nginx' -l env=prod",
    ],
    exits: [
      ["0", "the command would run"],
      ["10", "it would need approval"],
      ["11", "it would be denied"],
    ],
    load: async () => (await import("./shield.ts")).testCommand,
  },
  {
    name: "shield replay",
    about: "Judges a shell's history by the built-in rules, on this machine and without a relay.",
    takes: ["history"],
    options: [
      {
        name: "label",
        value: "key=value",
        letter: "l",
        many: true,
        about: "A label of the agent that would have run it.",
      },
      LIMIT,
    ],
    examples: [
      "relay shield replay ~/.bash_history",
      "relay shield replay ~/.zsh_history -l env=prod --json",
    ],
    load: async () => (await import("./replay.ts")).replayHistory,
  },
  {
    name: "policy ls",
    about: "Lists the policies in force, with their versions.",
    takes: [],
    options: [LIMIT, OFFSET],
    examples: ["relay policy ls", "relay policy ls --json"],
    load: async () => (await import("./policy.ts")).listPolicies,
  },
  {
    name: "policy plan",
    about: "Shows what an apply would change, and changes nothing.",
    takes: ["repository"],
    options: SOURCE_OF_POLICIES,
    examples: ["relay policy plan policies", "relay policy plan policies --replay 1000"],
    load: async () => (await import("./policy.ts")).planPolicies,
  },
  {
    name: "policy apply",
    about: "Brings the policies at the head of a repository's branch into force.",
    takes: ["repository"],
    options: [...SOURCE_OF_POLICIES, YES],
    examples: ["relay policy apply policies", "relay policy apply policies --branch main --yes"],
    load: async () => (await import("./policy.ts")).applyPolicies,
  },
  {
    name: "policy rollback",
    about: "Brings an earlier version of a policy into force, and pins it until its file changes.",
    takes: ["policy", "version"],
    options: [YES],
    examples: ["relay policy rollback production 3", "relay policy rollback production 3 --yes"],
    load: async () => (await import("./policy.ts")).rollBackPolicy,
  },
];
