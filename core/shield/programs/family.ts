import type { Interpreter } from "../code/unwrap_code.ts";
import type { ReadFile, Unwrapper } from "../interpreter/inner.ts";
import type { Scope } from "../interpreter/scope.ts";
import type { Flow, SimpleCommand } from "../model.ts";
import type { WrapperFields } from "./wrapper.ts";

/** Notes the files that a program writes; `output` is what it writes to its standard output. */
export type FileNoter = (command: SimpleCommand, output: () => Flow, scope: Scope) => void;

/** Finds paths or texts in the arguments of a command. */
export type Finder = (command: SimpleCommand) => readonly string[];

/** What is known of programs that take the same arguments, apart from the rules about them. */
export interface Family {
  readonly names: readonly string[];
  /** What they run, where `wrappers` and `runs` do not tell it; asked instead of both. */
  readonly unwrap?: Unwrapper;
  /** How they take code of another language, which has their name. */
  readonly interpreter?: Interpreter;
  /** What they run does not get their input. */
  readonly takesInput?: true;
  /** How they name another program that they run. */
  readonly wrappers?: readonly WrapperFields[];
  /** Programs that an option puts in front of the arguments of the inner command: `--entrypoint sh`. */
  readonly entrypoints?: Finder;
  /** What they run does not inherit the shell's variables, here or remotely. */
  readonly ownEnvironment?: true;
  /** Whether a call without an inner command starts a shell that runs its standard input. */
  readonly opensShell?: (command: SimpleCommand) => boolean;
  /** Command lines in their options; see also `wrappers`. */
  readonly runs?: (command: SimpleCommand, readFile: ReadFile) => readonly string[];
  /**
   * They read the files that they name, or those that this finds, and show them. What is read `elsewhere` is sent or
   * encrypted, and reading it is no harm by itself.
   */
  readonly reads?: "shown" | "elsewhere" | Finder;
  /** They may read or change everything below a folder that they name. */
  readonly descends?: true;
  /** The folders of which this command shows, copies or packs everything, as far as it names them. */
  readonly readsBelow?: Finder;
  /** The paths that they write. */
  readonly writes?: Finder;
  /** What these files hold then, so that a later command that runs or sends them is seen through. */
  readonly noteFiles?: FileNoter;
  /** Their output comes from the network, or is decoded: always, or with the option `-d`. */
  readonly output?: "network" | "decoded" | "decoded_by_option";
  /** The files that they list. */
  readonly lists?: (command: SimpleCommand) => Pick<Flow, "text" | "paths">;
  /** Whether a command writes out a whole database, container or system folder. */
  readonly dumps?: (command: SimpleCommand) => boolean;
  /** The files that leave the machine. */
  readonly sends?: Finder;
}
