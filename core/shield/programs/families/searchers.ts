import type { SimpleCommand } from "../../model.ts";
import { hasFlag, hasOption, operands, optionValues } from "../arguments.ts";
import type { Family, Finder } from "../family.ts";

const VALUED = new Set(["-A", "-B", "-C", "-e", "-f", "-g", "-m", "-t", "-T", "--include"]);

/** The files and folders that are searched; `here` stands for none. */
function searched(command: SimpleCommand, here: readonly string[]): readonly string[] {
  const words = operands(command, VALUED);
  const hasPattern = hasOption(command, "-e", "-f", "--regexp", "--file");
  const places = hasPattern ? words : words.slice(1);
  return places.length === 0 ? here : places;
}

const recursesByOption = (command: SimpleCommand): boolean =>
  hasFlag(command, "rR", "recursive", "dereference-recursive") ||
  optionValues(command, "-d", "--directories").includes("recurse");

const grepped: Finder = (command) => recursesByOption(command) ? searched(command, ["."]) : [];

/** They search the folder they are in, unless they have an input to search. */
const searchedAlways: Finder = (command) =>
  hasOption(command, "--files") ? [] : searched(command, command.stdin === null ? ["."] : []);

/** Programs that search the content of files. */
export const SEARCHERS: readonly Family[] = [
  { names: ["grep"], reads: "shown", descends: true, readsBelow: grepped },
  { names: ["egrep", "fgrep"], reads: "shown", readsBelow: grepped },
  { names: ["ggrep", "pcregrep", "pcre2grep", "ugrep", "zgrep"], readsBelow: grepped },
  { names: ["rgrep", "ug"], readsBelow: searchedAlways },
  {
    names: ["rg"],
    runs: ["--pre", "--hostname-bin"],
    reads: "shown",
    descends: true,
    readsBelow: searchedAlways,
  },
  { names: ["ack", "ag"], descends: true, readsBelow: searchedAlways },
];
