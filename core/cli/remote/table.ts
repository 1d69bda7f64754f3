import type { Option, RemoteCommand } from "./command.ts";

const YES: Option = { name: "yes", letter: "y", about: "Do not ask." };
const LIMIT: Option = { name: "limit", value: "number", about: "At most this many; default: 50." };
const OFFSET: Option = { name: "offset", value: "number", about: "Skip this many." };
const REASON: Option = { name: "reason", value: "text", about: "For people and the audit log." };

/** Options of commands for many agents. */
const MANY: readonly Option[] = [
  {
    name: "label",
    value: "key=value",
    letter: "l",
    many: true,
    about: "On all agents with this label.",
  },
  { name: "all", about: "On all agents." },
  { name: "parallel", value: "number", about: "So many agents at once; default: 20." },
  {
    name: "stop-after-failures",
    value: "number",
    about: "Start no further ones after so many failures.",
  },
];

/** The first words of the commands, as the help lists them. */
export const GROUPS: Readonly<Record<string, string>> = {
  login: "sign this terminal in",
  whoami: "show who is signed in, where and with which rights",
  logout: "end the session and forget it",
  status: "show whether the relay, its agents and approvals are well",
  agents: "list, show, restart and remove agents",
  exec: "run a command on an agent",
  approvals: "decide about commands that wait for approval",
  keys: "create, rotate, revoke and explain API keys",
};

/** Every command for people. Each loads its code when it is called. */
export const REMOTE_COMMANDS: readonly RemoteCommand[] = [
  {
    name: "login",
    about: "Signs this terminal in, by a code that a signed-in person approves elsewhere.",
    takes: [],
    options: [
      { name: "confirm", value: "code", about: "Approve the code that another terminal shows." },
      { name: "email", value: "address", about: "Sign in with --password-stdin instead." },
      { name: "password-stdin", about: "Read the password from the standard input." },
      { name: "code", value: "code", about: "The code of the second factor, with --email." },
      { name: "token-stdin", about: "Keep an API key from the standard input." },
      { ...YES, about: "With --confirm: do not ask." },
    ],
    examples: ["relay login --url relay.example.com", "relay login --confirm 7K3M-QX1D"],
    load: async () => (await import("./login.ts")).login,
  },
  {
    name: "whoami",
    about: "Shows the user, the organization, the credential, its rights, and the profile.",
    takes: [],
    options: [],
    examples: ["relay whoami", "relay whoami --json"],
    load: async () => (await import("./account.ts")).whoami,
  },
  {
    name: "logout",
    about: "Ends the session at the relay and removes the profile. An API key stays valid.",
    takes: [],
    options: [],
    examples: ["relay logout", "relay logout --profile staging"],
    load: async () => (await import("./account.ts")).logout,
  },
  {
    name: "status",
    about: "Shows the health of the relay, the agents that are online, and waiting approvals.",
    takes: [],
    options: [],
    examples: ["relay status", "relay status --json"],
    exits: [["1", "the relay is degraded"]],
    load: async () => (await import("./account.ts")).status,
  },
  {
    name: "agents ls",
    about: "Lists agents.",
    takes: [],
    options: [
      { name: "status", value: "status", about: "online, degraded or offline." },
      { name: "name", value: "name", about: "With exactly this name." },
      { name: "label", value: "key=value", letter: "l", about: "With this label." },
      LIMIT,
      OFFSET,
    ],
    examples: ["relay agents ls --status online", "relay agents ls -l env=prod -q"],
    load: async () => (await import("./agents.ts")).listAgents,
  },
  {
    name: "agents show",
    about: "Shows an agent.",
    takes: ["agent"],
    options: [],
    examples: ["relay agents show agt_0m3x1", "relay agents show agt_0m3x1 --json"],
    load: async () => (await import("./agents.ts")).showAgent,
  },
  {
    name: "agents rm",
    about: "Removes an agent and ends its link. Its program can register again.",
    takes: ["agent"],
    options: [YES],
    examples: ["relay agents rm agt_0m3x1", "relay agents rm agt_0m3x1 --yes"],
    load: async () => (await import("./agents.ts")).removeAgent,
  },
  {
    name: "agents restart",
    about: "Restarts the agent's program.",
    takes: ["agent"],
    options: [],
    examples: ["relay agents restart agt_0m3x1", "relay agents restart agt_0m3x1 -q"],
    load: async () => (await import("./agents.ts")).restartAgent,
  },
  {
    name: "exec",
    about: "Runs a command on an agent and exits with its exit code, or on many at once.",
    takes: ["agent?"],
    rest: "command…",
    options: [
      ...MANY,
      { name: "timeout", value: "seconds", about: "Default: 60, at most 600." },
      { name: "wait", about: "Wait without asking when the command is held for approval." },
    ],
    examples: ["relay exec web-1 -- uptime", "relay exec -l env=test -- uptime"],
    exits: [
      ["any", "the exit code of the command"],
      ["1", "with -l or --all: not all commands succeeded"],
      ["124", "the command exceeded its time"],
      ["125", "there is no result: not signed in, refused, rejected, cancelled or lost"],
      ["126", "the command waits for approval"],
      ["130", "Ctrl-C; the command was cancelled"],
    ],
    load: async () => (await import("./exec_many.ts")).execOnSome,
  },
  {
    name: "approvals ls",
    about: "Lists requests for approval, those that wait by default.",
    takes: [],
    options: [
      { name: "status", value: "status", about: "pending, approved, rejected, expired or all." },
      LIMIT,
      OFFSET,
    ],
    examples: ["relay approvals ls", "relay approvals ls --status all"],
    load: async () => (await import("./approvals.ts")).listApprovals,
  },
  {
    name: "approvals show",
    about: "Shows a request: the command, its agent, the risk, and the decisions.",
    takes: ["approval"],
    options: [],
    examples: ["relay approvals show prc_0m3x1", "relay approvals show prc_0m3x1 --json"],
    load: async () => (await import("./approvals.ts")).showApproval,
  },
  {
    name: "approvals approve",
    about: "Approves a command, which then runs.",
    takes: ["approval"],
    options: [REASON],
    examples: [
      "relay approvals approve prc_0m3x1",
      "relay approvals approve prc_0m3x1 --reason 'planned restart'",
    ],
    load: async () => (await import("./approvals.ts")).approve,
  },
  {
    name: "approvals reject",
    about: "Rejects a command, which then never runs.",
    takes: ["approval"],
    options: [REASON],
    examples: [
      "relay approvals reject prc_0m3x1",
      "relay approvals reject prc_0m3x1 --reason 'wrong machine'",
    ],
    load: async () => (await import("./approvals.ts")).reject,
  },
  {
    name: "keys ls",
    about: "Lists API keys.",
    takes: [],
    options: [{ name: "type", value: "type", about: "live or test." }, LIMIT, OFFSET],
    examples: ["relay keys ls", "relay keys ls --type test -q"],
    load: async () => (await import("./keys.ts")).listKeys,
  },
  {
    name: "keys create",
    about: "Creates an API key and prints its value, once.",
    takes: ["name"],
    options: [
      { name: "scope", value: "scope", letter: "s", many: true, about: "A right of the key." },
      { name: "expires-days", value: "days", about: "Default: 90." },
      { name: "test", about: "See and create test data only." },
      { name: "description", value: "text", about: "What it is for." },
    ],
    examples: [
      "relay keys create ci -s agents:read -s agents:write",
      "relay keys create probe -s system:read -q >key.txt",
    ],
    load: async () => (await import("./keys.ts")).createKey,
  },
  {
    name: "keys rotate",
    about: "Gives a key a new value and prints it, once. The old value works for the grace period.",
    takes: ["key"],
    options: [{ name: "grace-hours", value: "hours", about: "Default: 24; 0 ends the old value." }],
    examples: ["relay keys rotate key_0m3x1", "relay keys rotate key_0m3x1 --grace-hours 0"],
    load: async () => (await import("./keys.ts")).rotateKey,
  },
  {
    name: "keys revoke",
    about: "Ends a key, and with --cascade everything that was made with it.",
    takes: ["key"],
    options: [
      { name: "cascade", about: "Also end what was made with it." },
      { name: "dry-run", about: "Only show what would end." },
      YES,
    ],
    examples: ["relay keys revoke key_0m3x1", "relay keys revoke key_0m3x1 --cascade --dry-run"],
    load: async () => (await import("./keys.ts")).revokeKey,
  },
  {
    name: "keys explain",
    about: "Says whether a key may do something now, and why.",
    takes: ["key", "scope"],
    options: [],
    examples: [
      "relay keys explain key_0m3x1 agents:write",
      "relay keys explain key_0m3x1 agents:write --json",
    ],
    exits: [["1", "it may not"]],
    load: async () => (await import("./keys.ts")).explainKey,
  },
];
