import { isRehearsal, operands } from "../../programs/arguments.ts";
import { separated } from "../production/cloud_words.ts";
import { type Irreversibility, type Rule, rule, type SimpleCommand } from "../rule.ts";
import { CLOUD_TOOLS } from "./clouds.ts";
import { DELIVERY_TOOLS } from "./delivery.ts";
import { STORE_TOOLS } from "./stores.ts";
import { type Harm, type Tool, TOOL_VALUED } from "./tool.ts";

const HARMS: ReadonlyMap<string, Harm> = new Map([
  ...[
    "destroy",
    "purge",
    "wipe",
    "erase",
    "drop",
    "flush",
    "flushall",
    "truncate",
    "terminate",
    "nuke",
    "obliterate",
    "shred",
    "rdelete",
    "rmp",
  ].map((verb) => [verb, "destroy"] as const),
  ...[
    "delete",
    "remove",
    "rm",
    "del",
    "rb",
    "prune",
    "forget",
    "unlink",
    "deletefile",
    "rmdir",
    "clear",
    "cleanup",
    "gc",
    "expunge",
    "compact",
    "undeploy",
    "undefine",
    "uninstall",
  ].map((verb) => [verb, "delete"] as const),
  ...[
    "disable",
    "revoke",
    "deregister",
    "unregister",
    "unsubscribe",
    "detach",
    "archive",
    "reset",
    "suspend",
    "evict",
    "drain",
    "cordon",
    "pause",
    "deactivate",
    "stop",
    "kill",
    "shutdown",
    "scale",
    "release",
    "rollback",
    "restore",
    "failover",
    "cancel",
    "disassociate",
    "unset",
    "logout",
    "abandon",
    "reboot",
    "restart",
    "deprovision",
    "decommission",
    "lock",
    "unlock",
    "transfer",
    "force",
  ].map((verb) => [verb, "disable"] as const),
]);

const ASKING = new Set(["help", "list", "ls", "show", "status"]);

/** Verbs of daily operation, which are harmless unless an entry of a tool names them. */
const MILD = new Set([
  "stop",
  "restart",
  "reboot",
  "scale",
  "release",
  "rollback",
  "restore",
  "cancel",
  "unset",
  "logout",
  "pause",
  "kill",
  "lock",
  "unlock",
  "gc",
  "compact",
  "clear",
  "cleanup",
  "transfer",
  "force",
  "shutdown",
  "reset",
  "drain",
  "cordon",
  "failover",
  "archive",
]);

const LEVELS: readonly {
  harm: Harm;
  verb: string;
  irreversibility: Irreversibility;
  explanation: string;
}[] = [
  {
    harm: "destroy",
    verb: "Destroy",
    irreversibility: 5,
    explanation: "It destroys the named objects and keeps no copy.",
  },
  {
    harm: "delete",
    verb: "Delete",
    irreversibility: 4,
    explanation: "It deletes the named objects; only a backup can restore them.",
  },
  {
    harm: "disable",
    verb: "Disable",
    irreversibility: 3,
    explanation: "It removes or disables something that others rely on.",
  },
];

const TOOLS = [...CLOUD_TOOLS, ...STORE_TOOLS, ...DELIVERY_TOOLS];

const valuedOf = new Map(
  TOOLS.map((tool) => [tool, new Set([...tool.valued ?? [], ...TOOL_VALUED])]),
);

function findHarm(command: SimpleCommand, tool: Tool): Harm | null {
  const words = operands(command, valuedOf.get(tool));
  const end = Math.min(words.length, tool.depth);
  for (let i = tool.skip ?? 0; i < end; i++) {
    const word = separated(words[i]!);
    if (isNeutral(word)) return null;
    const harm = verbHarm(word, tool);
    // `rollback status` asks how far one is.
    const isAsked = ASKING.has(words[i + 1]?.toLowerCase() ?? "");
    if ((MILD.has(word) || harm === "disable") && isAsked) return null;
    if (harm === null || isExcepted(word, i === 0 ? "" : words[i - 1]!.toLowerCase(), tool)) {
      continue;
    }
    return isRehearsal(command) || worksHere(command) || isPreview(command) ? null : harm;
  }
  return null;
}

/** `supabase db reset --local`: what it acts on are containers of this machine. */
const worksHere = ({ args, name }: SimpleCommand): boolean =>
  name === "supabase" && args.includes("--local") &&
  !args.some((arg) => arg.startsWith("--linked") || arg.startsWith("--db-url"));

/** `kops delete cluster` without `--yes` shows what it would delete. */
const isPreview = ({ args, name }: SimpleCommand): boolean =>
  name === "kops" && args[0] === "delete" &&
  ["cluster", "ig", "instancegroup"].includes(args[1] ?? "") &&
  !args.some((arg) => arg.startsWith("--yes") || arg === "-y");

/** Whether the verb, alone or with the word before it, harms nothing in this tool's hands. */
function isExcepted(word: string, before: string, { except }: Tool): boolean {
  return except?.some((one) => one === word || one === `${before} ${word}`) ?? false;
}

/** A verb that harms nothing ends the search: what follows it is a name or a title. */
const NEUTRAL = new Set([
  "help",
  "can",
  "create",
  "new",
  "list",
  "ls",
  "get",
  "view",
  "show",
  "describe",
  "status",
  "info",
  "search",
  "add",
  "comment",
  "logs",
  "log",
  "read",
  "lookup",
  "version",
  "run",
  "exec",
  "login",
  "build",
  "pull",
  "tag",
  "inspect",
  "ps",
  "plan",
  "validate",
  "template",
  "diff",
]);

function isNeutral(word: string): boolean {
  const dash = word.indexOf("-");
  return NEUTRAL.has(dash < 0 ? word : word.slice(0, dash));
}

/** `delete-bucket`, `apps:destroy`, `delete_vhost` and `DeleteInstance` all begin or end with their verb. */
function verbHarm(word: string, tool: Tool): Harm | null {
  if (word.includes(" ")) return null;
  if (!isParted(word)) return harmBy(word, tool);
  const pieces = word.split(PARTED);
  const candidates = word.includes(":")
    ? pieces
    : pieces.slice(0, pieces[0] === "batch" || pieces[0] === "bulk" ? 2 : 1);
  const last = pieces.at(-1) ?? "";
  if (pieces.length === 2 && LAST_VERBS.has(last)) candidates.push(last);
  for (const piece of candidates) {
    const harm = harmBy(piece, tool);
    if (harm !== null) return harm;
  }
  return null;
}

const PARTED = /[-_:.]/;

const isParted = (word: string): boolean =>
  word.includes("-") || word.includes("_") || word.includes(":") || word.includes(".");

function harmBy(verb: string, { also }: Tool): Harm | null {
  const harm = HARMS.get(verb);
  return harm === undefined || (MILD.has(verb) && !also?.includes(verb)) ? null : harm;
}

/** Verbs that also stand last: `repo-delete`. */
const LAST_VERBS = new Set(["delete", "destroy", "purge", "remove"]);

/** Three rules for each tool: it destroys, deletes or disables. */
export const CONTROL_RULES: readonly Rule[] = TOOLS.flatMap((tool) => {
  const ask = (command: SimpleCommand) => findHarm(command, tool) ?? "";
  return LEVELS.map(({ harm, verb, irreversibility, explanation }) =>
    rule({
      id: `${tool.pack}.${(tool.names[0] ?? "").replaceAll("-", "_")}_${harm}`,
      title: `${verb} with ${tool.names[0]}`,
      commands: tool.names,
      when: { ask, answers: [harm] },
      match: () => true,
      evenRehearsed: true,
      weight: [tool.blast, irreversibility],
      threat: harm === "disable" ? "service_disruption" : "resource_deletion",
      explanation,
      safer:
        "List what it would touch first, use a rehearsal (--dry-run) where there is one, and keep a backup.",
      hits: tool.hits[harm],
      misses: tool.misses,
    })
  );
});
