import { LIMIT, type RemoteCommand } from "./command.ts";

/** Commands that add machines, and those about what ran on them. */
export const COMMAND_ROWS: readonly RemoteCommand[] = [
  {
    name: "pair",
    about: "Prints the line to run on a machine, and waits until its agent is there.",
    takes: ["name?"],
    options: [
      { name: "label", value: "key=value", letter: "l", many: true, about: "A label to give it." },
    ],
    examples: ["relay pair web-1", "relay pair web-1 -l env=prod -q"],
    exits: [
      ["1", "the code expired after 10 minutes, or the relay refused"],
      ["130", "Ctrl-C; the code stays valid"],
    ],
    load: async () => (await import("./pair.ts")).pair,
  },
  {
    name: "commands ls",
    about: "Lists commands that wait, run or have ended, newest first.",
    takes: [],
    options: [
      { name: "status", value: "statuses", about: "One or more, such as queued,running." },
      { name: "agent", value: "agent", about: "Of this agent." },
      { name: "label", value: "key=value", letter: "l", about: "Of agents with this label." },
      { name: "actor", value: "id", about: "Of this user or API key." },
      { name: "text", value: "text", about: "With this text, ignoring case." },
      { name: "verdict", value: "verdict", about: "allow, approve or deny." },
      { name: "start-time", value: "time", about: "Created from this time or date on." },
      { name: "end-time", value: "time", about: "Created until this time or date." },
      LIMIT,
      { name: "cursor", value: "cursor", about: "The next page, as the one before says." },
    ],
    examples: [
      "relay commands ls --agent web-1 --status running",
      "relay commands ls --text nginx --start-time 2026-10-01",
    ],
    load: async () => (await import("./commands.ts")).listCommands,
  },
  {
    name: "commands show",
    about: "Shows a command, without its output.",
    takes: ["command"],
    options: [],
    examples: ["relay commands show cmd_0m3x1", "relay commands show cmd_0m3x1 --json"],
    load: async () => (await import("./commands.ts")).showCommand,
  },
  {
    name: "commands logs",
    about: "Prints the output of a command so far, or with -f until it ends.",
    takes: ["command"],
    options: [{
      name: "follow",
      letter: "f",
      about: "Print new output as it comes, and exit with the command's exit code.",
    }],
    examples: ["relay commands logs cmd_0m3x1", "relay commands logs cmd_0m3x1 -f"],
    exits: [
      ["any", "with -f: the exit code of the command"],
      ["124", "with -f: the command exceeded its time"],
      ["125", "with -f: there is no result"],
    ],
    load: async () => (await import("./commands.ts")).commandLogs,
  },
  {
    name: "commands cancel",
    about: "Ends a command on its agent, or withdraws it while it waits.",
    takes: ["command"],
    options: [],
    examples: ["relay commands cancel cmd_0m3x1", "relay commands cancel cmd_0m3x1 -q"],
    load: async () => (await import("./commands.ts")).cancelCommand,
  },
];
