import type { Interpreter } from "../code/unwrap_code.ts";
import type { Inner, ReadFile, Unwrapper } from "../interpreter/inner.ts";
import type { Scope } from "../interpreter/scope.ts";
import type { Flow, SimpleCommand } from "../model.ts";
import type { WrapperFields } from "./wrapper.ts";

/** Notes the files that a program writes; `output` is what it writes to its standard output. */
export type FileNoter = (command: SimpleCommand, output: () => Flow, scope: Scope) => void;

/** Finds paths or texts in the arguments of a command. */
export type Finder = (command: SimpleCommand) => readonly string[];

/** Answers what a command prints for this input; null leaves it to `output`. */
export type Printer = (command: SimpleCommand, incoming: Flow, readFile: ReadFile) => Flow | null;

/**
 * What is known of programs that take the same arguments, apart from the rules about them. A program may have several
 * descriptions, but all of them stand in one file.
 */
export interface Family {
  readonly names: readonly string[];
  /** Short options that take a value, of programs whose options are often bundled: `curl -sXDELETE`. */
  readonly valuedLetters?: string;
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
  /** Whether what they run does not inherit the shell's variables, here or remotely. */
  readonly ownEnvironment?: (command: SimpleCommand) => boolean;
  /** Whether a call without an inner command starts a shell that runs its standard input. */
  readonly opensShell?: (command: SimpleCommand) => boolean;
  /** The options whose value is a command line, or a function that finds command lines; see also `wrappers`. */
  readonly runs?:
    | readonly string[]
    | ((command: SimpleCommand, readFile: ReadFile) => readonly string[]);
  /** Code in the options of programs whose own language can run programs. */
  readonly codes?: (command: SimpleCommand, readFile: ReadFile) => readonly Inner[];
  /**
   * They read the files that they name, or those that this finds, and show them. What is read `elsewhere` is sent or
   * encrypted, and reading it is no harm by itself.
   */
  readonly reads?: "shown" | "elsewhere" | Finder;
  /** They show a file's place and owner, or their own arguments, but not the file's content. */
  readonly looks?: true;
  /** Their own language names files: `sed 'r path'`, `.read path`. */
  readonly scripted?: true;
  /** They may read or change everything below a folder that they name. */
  readonly descends?: true;
  /** The folders of which this command shows, copies or packs everything, as far as it names them. */
  readonly readsBelow?: Finder;
  /** The paths that they write. */
  readonly writes?: Finder;
  /** What these files hold then, so that a later command that runs or sends them is seen through. */
  readonly noteFiles?: FileNoter;
  /** What they print, as far as it is known without running them. */
  readonly prints?: Printer;
  /** The origin of output that `prints` does not tell: the network, or a decoder, always or with `-d`. */
  readonly output?: "network" | "decoded" | "decoded_by_option";
  /** Whether a command writes out a whole database, container or system folder. */
  readonly dumps?: (command: SimpleCommand) => boolean;
  /** The files that leave the machine. */
  readonly sends?: Finder;
}
