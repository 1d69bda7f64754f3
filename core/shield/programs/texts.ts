import { quoteWord } from "../interpreter/inner.ts";
import type { SimpleCommand } from "../model.ts";
import { clusterValues, operands, optionValues } from "./arguments.ts";
import type { Finder } from "./family.ts";

/** Every command does it. */
export const always = (): boolean => true;

/** What follows the first mark; empty where there is none. */
export function afterFirst(text: string, mark: string): string {
  const at = text.indexOf(mark);
  return at < 0 ? "" : text.slice(at + mark.length);
}

/** The text behind `-c`, which may end a bundle: `script -qc text`. */
export const commandTexts = (command: SimpleCommand): string[] => [
  ...optionValues(command, "-c", "--command"),
  ...clusterValues(command, "c"),
];

/** What follows the first of these arguments, as words. */
export function afterOption({ args }: SimpleCommand, ...options: string[]): string {
  const at = args.findIndex((arg) => options.includes(arg));
  return at < 0 ? "" : args.slice(at + 1).map(quoteWord).join(" ");
}

/** Lines of input that an interactive program hands to a shell: `!text`. */
export function bangLines({ stdin }: SimpleCommand): string[] {
  return (stdin?.text ?? "").split("\n").flatMap(bang);
}

/** The text of a line that an interactive program hands to a shell. */
export const bang = (line: string): string[] => line.startsWith("!") ? [line.slice(1)] : [];

/** A file of any name in each of these folders. */
export const within = (folders: readonly string[]) => folders.map((folder) => `${folder}/x`);

/** Whether a value names a file; `-` is standard output. */
export const isPath = (value: string) => value.length > 1;

/** The file of `name=@file`, `name=<file` or `@"file"`. */
export function fileOf(value: string): string {
  return value.slice(Math.max(value.lastIndexOf("@"), value.lastIndexOf("<")) + 1)
    .replaceAll('"', "");
}

/** The file of any of these options. */
export const valuesOf = (...options: readonly string[]): Finder => (command) =>
  optionValues(command, ...options).filter(isPath);

/** A file in the folder of any of these options. */
export const valuesIn = (...options: readonly string[]): Finder => (command) =>
  within(optionValues(command, ...options));

/** The last word that is no option. */
export const lastOperand: Finder = (command) => operands(command).slice(-1);
