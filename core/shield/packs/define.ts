import { isRehearsal, operands, wordsOf } from "../programs/arguments.ts";
import {
  type Blast,
  type Irreversibility,
  once,
  type Pack,
  type Rule,
  type SimpleCommand,
} from "../model.ts";
import { readPhrases } from "./phrases.ts";

const NO_WORDS: readonly string[] = [];

/** One rule about ordinary commands: help and rehearsals never match. */
export function defineRule(
  pack: Pack,
  id: string,
  commands: readonly string[] | null,
  match: (command: SimpleCommand, words: readonly string[]) => boolean,
  weight: readonly [Blast, Irreversibility],
  threat: string,
  explanation: string,
  safer: string | null,
  also?: NonNullable<Rule["also"]>,
): Rule {
  return {
    id: `${pack}.${id}`,
    pack,
    commands,
    ...(also && { also }),
    // Few look at the words, which have to be made first.
    match: match.length < 2
      ? (command) => match(command, NO_WORDS) && !isRehearsal(command)
      : (command) => match(command, wordsOf(command)) && !isRehearsal(command),
    blast: weight[0],
    irreversibility: weight[1],
    threat,
    explanation,
    safer_alternative: safer,
  };
}

/** One rule about commands as they are typed; see `readPhrases`. */
export function phraseRule(
  pack: Pack,
  id: string,
  lines: readonly string[],
  weight: readonly [Blast, Irreversibility],
  threat: string,
  explanation: string,
  safer: string | null,
  ask?: (command: SimpleCommand) => readonly string[],
): Rule {
  const { names, matches } = readPhrases(lines, ask);
  return defineRule(
    pack,
    id,
    names,
    (command) => matches(command),
    weight,
    threat,
    explanation,
    safer,
  );
}

/**
 * One rule about a program whose subcommand stands before its operands: it is given the operands in lower case, and
 * asked only of these subcommands, if any are named.
 */
export function verbRule(
  pack: Pack,
  id: string,
  commands: readonly string[],
  match: (command: SimpleCommand, words: readonly string[]) => boolean,
  weight: readonly [Blast, Irreversibility],
  threat: string,
  explanation: string,
  safer: string,
  verbs?: readonly string[],
): Rule {
  const matches = (command: SimpleCommand) => match(command, once(command, lowerWords));
  return {
    ...defineRule(pack, id, commands, matches, weight, threat, explanation, safer),
    ...(verbs && { when: { ask: verbOf, answers: verbs } }),
  };
}

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

const verbOf = (command: SimpleCommand) => once(command, lowerWords)[0] ?? "";
