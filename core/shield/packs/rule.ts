import {
  type Blast,
  type CodeScan,
  type Condition,
  type Examples,
  type Irreversibility,
  once,
  type Pack,
  type Rule,
  type SimpleCommand,
} from "../model.ts";
import { isRehearsal, operands, wordsOf } from "../programs/arguments.ts";
import { readPhrases } from "./phrases.ts";

// What the files of packs need beside `rule`.
export { FROM_NETWORK, LISTED, newCommand, once, UNKNOWN } from "../model.ts";
export type {
  Blast,
  CodeScan,
  Condition,
  Examples,
  Irreversibility,
  Pack,
  Redirection,
  Rule,
  SimpleCommand,
  Span,
} from "../model.ts";

/** What a pack says of one rule. */
interface RuleFields {
  /** `<pack>.<what>`; it never changes, because audit rows and policies name it. */
  readonly id: `${Pack}.${string}`;
  /** What the command does, in a few words. */
  readonly title: string;
  /** Names of the programs that `match` is asked about; null asks about every command. */
  readonly commands?: readonly string[] | null;
  /** `match` is also asked about every command with redirections, or with variables set before it. */
  readonly also?: Rule["also"];
  /** `match` is asked only about commands of which this holds. */
  readonly when?: Condition;
  /**
   * The program's subcommand stands before its operands, and is one of these. `match` is given the operands in lower
   * case.
   */
  readonly subcommands?: readonly string[] | "any";
  /** Commands as they are typed, see `readPhrases`; each fires the rule by itself, without `match`. */
  readonly phrases?: readonly string[];
  /** The words that phrases are looked for in; the arguments, unless given. */
  readonly words?: (command: SimpleCommand) => readonly string[];
  /** Whether a command does the harm; `words` are its operands. */
  readonly match?: (command: SimpleCommand, words: readonly string[]) => boolean;
  /** A call for help and a rehearsal (`--dry-run`) match as well; otherwise they never do. */
  readonly evenRehearsed?: boolean;
  /** Whether code of another language does the harm. */
  readonly matchCode?: (scan: CodeScan) => boolean;
  readonly weight: readonly [Blast, Irreversibility];
  readonly threat: string;
  /** What the command does, in a sentence for people. */
  readonly explanation: string;
  /** What to do instead; null where there is nothing. */
  readonly safer: string | null;
  /** Commands on which the rule fires; of a list, on the last. */
  readonly hits: Examples;
  /** Everyday commands like them on which no rule of the pack fires. */
  readonly misses: Examples;
}

/** Makes a rule. One without commands, phrases and `matchCode` is raised by the walk or the behaviour layer itself. */
export function rule(fields: RuleFields): Rule {
  const { id, weight: [blast, irreversibility], phrases, subcommands } = fields;
  const spoken = phrases === undefined ? null : readPhrases(phrases, fields.words);
  const commands = spoken === null
    ? fields.commands
    : [...new Set([...spoken.names, ...fields.commands ?? []])];
  return {
    id,
    pack: id.slice(0, id.indexOf(".")) as Pack,
    title: fields.title,
    commands: commands === undefined ? [] : commands,
    also: fields.also ?? null,
    when: fields.when ??
      (typeof subcommands === "object" ? { ask: subcommandOf, answers: subcommands } : null),
    match: matcher(fields, spoken?.matches ?? null),
    matchCode: fields.matchCode ?? null,
    blast,
    irreversibility,
    threat: fields.threat,
    explanation: fields.explanation,
    safer_alternative: fields.safer,
    hits: fields.hits,
    misses: fields.misses,
  };
}

function matcher(
  { match, subcommands, evenRehearsed }: RuleFields,
  says: ((command: SimpleCommand) => boolean) | null,
): Rule["match"] {
  const asks = asker(match, subcommands !== undefined);
  const matches = says === null
    ? asks ?? NEVER
    : asks === null
    ? says
    : (command: SimpleCommand) => says(command) || asks(command);
  return evenRehearsed ? matches : (command) => matches(command) && !isRehearsal(command);
}

const NEVER = () => false;

/** Few matches look at the words, which have to be made first. */
function asker(match: RuleFields["match"], hasSubcommand: boolean): Rule["match"] | null {
  if (match === undefined) return null;
  if (match.length < 2) return (command) => match(command, NO_WORDS);
  return hasSubcommand
    ? (command) => match(command, once(command, lowerWords))
    : (command) => match(command, wordsOf(command));
}

const NO_WORDS: readonly string[] = [];

/** Options of container tools and clusters whose value is the next word. */
const VALUED = new Set([
  "-n",
  "--namespace",
  "--context",
  "--kubeconfig",
  "-f",
  "--filename",
  "-l",
  "--selector",
  "-H",
  "--host",
  "-p",
  "--project-name",
  "--file",
  "--as",
  "--cluster",
  "-c",
  "--timeout",
  "--grace-period",
  "-o",
]);
const lowerWords = (command: SimpleCommand) =>
  operands(command, VALUED).map((word) => word.toLowerCase());

const subcommandOf = (command: SimpleCommand) => once(command, lowerWords)[0] ?? "";
