import { isUnknown } from "../../programs/arguments.ts";
import {
  type Blast,
  type Examples,
  type Irreversibility,
  LISTED,
  type Rule,
  rule,
  type SimpleCommand,
} from "../rule.ts";

/** What else has to hold of a command. */
export type Test = (command: SimpleCommand) => boolean;

/** Calls of programs that change a running system, by their subcommands and options. */
export interface Change {
  /** The programs, as words of one text. */
  readonly names: string;
  /**
   * The words behind the program that change something, such as `rollout restart|undo`; they match from the first
   * word on, and whatever follows them. `*` is any word. `!apply view-last-applied` changes nothing after all. Without
   * verbs every call is a change.
   */
  readonly verbs?: readonly string[];
  /** Options of which one makes the call a change: `kops update cluster` without `--yes` only shows a plan. */
  readonly needs?: string;
  /** Options that make the call a rehearsal or a question; a value such as `none` or `false` does not. */
  readonly passes?: string;
  /** Further options whose value is the next word. */
  readonly valued?: string;
  /** `-h` is no call for help. */
  readonly hasH?: true;
  /** What else has to hold. */
  readonly when?: Test;
}

/** A rule about changes; see `rule`. */
interface ChangeRule {
  readonly id: `production.${string}`;
  readonly title: string;
  readonly changes: readonly Change[];
  readonly weight?: readonly [Blast, Irreversibility];
  readonly explanation: string;
  readonly safer: string;
  readonly hits: Examples;
  readonly misses: Examples;
}

/** Makes a rule about programs that change a running system. */
export function changeRule({ changes, ...fields }: ChangeRule): Rule {
  let byName: ReadonlyMap<string, readonly Known[]> | null = null;
  return rule({
    weight: [3, 3],
    threat: "production_change",
    ...fields,
    commands: [...new Set(changes.flatMap(({ names }) => names.split(" ")))],
    match(command) {
      byName ??= readChanges(changes);
      return byName.get(command.name)?.some((known) => isChange(command, known)) ?? false;
    },
  });
}

function readChanges(changes: readonly Change[]): ReadonlyMap<string, readonly Known[]> {
  const byName = new Map<string, Known[]>();
  for (const change of changes) {
    const known = readChange(change);
    for (const name of change.names.split(" ")) {
      byName.getOrInsertComputed(name, () => []).push(known);
    }
  }
  return byName;
}

/** A word of the tree of verbs, and what may follow it. */
interface Node {
  changes: boolean;
  readonly next: Map<string, Node>;
}

/** A change whose texts were read. */
interface Known {
  readonly verbs: Node;
  readonly needs: ReadonlySet<string>;
  readonly passes: ReadonlySet<string>;
  readonly valued: ReadonlySet<string>;
  readonly when: Change["when"];
}

function readChange({ verbs, needs, passes, valued, hasH, when }: Change): Known {
  const root: Node = { changes: verbs === undefined, next: new Map() };
  for (const verb of verbs ?? []) addVerb(root, verb);
  return {
    verbs: root,
    needs: setOf(needs),
    passes: new Set([...setOf(passes), ...(hasH ? LONG_HELP : HELP)]),
    valued: new Set([...setOf(valued), ...VALUED]),
    when,
  };
}

const setOf = (text = ""): ReadonlySet<string> => new Set(text === "" ? [] : text.split(" "));
const LONG_HELP = ["--help", "-help"];
const HELP = [...LONG_HELP, "-h"];

/** Options of many tools whose value is the next word, even one that looks like an option. */
const VALUED = [
  "--cluster",
  "--config",
  "--context",
  "--description",
  "--env-file",
  "--file",
  "--filename",
  "--host",
  "--kube-context",
  "--kubeconfig",
  "--message",
  "--name",
  "--namespace",
  "--profile",
  "--project",
  "--region",
  "--server",
  "--set",
  "--values",
];

function addVerb(root: Node, verb: string): void {
  const changes = !verb.startsWith("!");
  let nodes = [root];
  for (const choice of (changes ? verb : verb.slice(1)).split(" ")) {
    nodes = nodes.flatMap(({ changes, next }) =>
      choice.split("|").map((word) =>
        next.getOrInsertComputed(word, () => ({ changes, next: new Map() }))
      )
    );
  }
  for (const node of nodes) node.changes = changes;
}

function isChange(command: SimpleCommand, { verbs, needs, passes, valued, when }: Known): boolean {
  return changesByVerb(command.args, verbs, valued) &&
    (needs.size === 0 || hasAny(command.args, needs, valued)) &&
    !hasAny(command.args, passes, valued) && (when?.(command) ?? true);
}

/** Follows the words from the first on. A word behind an unknown option may be the option's value, or not. */
function changesByVerb(
  args: readonly string[],
  root: Node,
  valued: ReadonlySet<string>,
): boolean {
  let node = root;
  let mayBeValue = false;
  for (let i = 0; i < args.length && node.next.size > 0; i++) {
    const arg = args[i]!;
    if (arg.charCodeAt(0) === DASH && arg.length > 1) {
      if (valued.has(arg)) i++;
      else mayBeValue = !arg.includes("=");
      continue;
    }
    const next = node.next.get(arg.toLowerCase()) ?? node.next.get("*");
    if (next === undefined && isUnknown(arg)) return node.changes || mayChange(args, i);
    const leads = next !== undefined && (next.changes || next.next.size > 0);
    if (!leads && mayBeValue) mayBeValue = false;
    else if (next === undefined) break;
    else {
      node = next;
      mayBeValue = false;
    }
  }
  return node.changes;
}

/**
 * Whether a verb that is unknown before the call may be one that changes: it acts on something, and no word reads. A
 * list stands for several words.
 */
function mayChange(args: readonly string[], at: number): boolean {
  const rest = args.slice(at + 1, at + 1 + WORDS_MAX);
  return (rest.length > 0 || args[at] === LISTED) &&
    !rest.some((arg) => READS.has(arg) || HELP.includes(arg));
}

const WORDS_MAX = 8;
const READS = new Set(
  ("check config describe diff events explain get history images info inspect lint list logs ls plan ps query " +
    "search show status template top validate version view").split(" "),
);

const DASH = 0x2d;
const OFF = new Set(["0", "false", "no", "none", "off"]);

/** Whether one of the options is given, and not switched off behind. */
function hasAny(
  args: readonly string[],
  options: ReadonlySet<string>,
  valued: ReadonlySet<string>,
): boolean {
  let found = false;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    if (arg.charCodeAt(0) !== DASH) {
      if (options.has(arg.toLowerCase())) found = true;
      continue;
    }
    if (arg === "--") break;
    if (valued.has(arg)) {
      i++;
      continue;
    }
    const equals = arg.indexOf("=");
    const name = equals < 0 ? arg : arg.slice(0, equals);
    // The last of contradicting options counts.
    if (arg.startsWith("--no-") && options.has(`--${arg.slice(5)}`)) found = false;
    if (options.has(name) || isBundled(name, options, valued)) {
      const value = equals < 0 ? args[i + 1] : arg.slice(equals + 1);
      // `-b 0` sets a number.
      const isNumber = equals < 0 && name.length === 2 && value === "0";
      found = value === undefined || isNumber || !OFF.has(value.toLowerCase());
    }
  }
  return found;
}

/** Whether one of the letters of `-yqs` is an option; a call for help stands alone. */
function isBundled(
  name: string,
  options: ReadonlySet<string>,
  valued: ReadonlySet<string>,
): boolean {
  if (name.length < 3 || name.length > 5 || name.charCodeAt(1) === DASH) return false;
  for (const letter of name.slice(1)) {
    if (letter !== "h" && options.has(`-${letter}`)) return true;
    // The rest of the word is this option's value.
    if (valued.has(`-${letter}`)) return false;
  }
  return false;
}
