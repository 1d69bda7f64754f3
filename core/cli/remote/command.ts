import type { Client } from "../../client/client.ts";
import type { Failure } from "./failure.ts";
import type { Host } from "./host.ts";
import type { Output } from "./output.ts";
import type { Target } from "./target.ts";

/** An option of a command. */
export interface Option {
  readonly name: string;
  /** The placeholder of its value; without one it is a switch. */
  readonly value?: string;
  /** It may be given several times. */
  readonly many?: true;
  readonly letter?: string;
  readonly about: string;
}

/** A command for people, in the table from which help, completion and the docs page are made. */
export interface RemoteCommand {
  /** Its words: `agents ls`. */
  readonly name: string;
  readonly about: string;
  /** Its positional arguments: one that ends in `?` may be left out, one in `…` is one or more. */
  readonly takes: readonly string[];
  /** Placeholder of what follows `--`. */
  readonly rest?: string;
  readonly options: readonly Option[];
  readonly examples: readonly [string, string];
  /** Exit codes beyond those of every command. */
  readonly exits?: readonly (readonly [code: string, meaning: string])[];
  readonly load: () => Promise<Run>;
}

/** Does the work of a command; may resolve to an exit code other than 0. */
export type Run = (call: Call) => Promise<number | void>;

/** One call of a command. */
export interface Call {
  /** The positional arguments, in the order in which the command takes them. */
  readonly args: readonly string[];
  /** What followed `--`. */
  readonly rest: readonly string[];
  /** The value of an option; undefined when it was not given. */
  text(name: string): string | undefined;
  /** A whole number; undefined when it was not given. @throws {UsageError} */
  number(name: string): number | undefined;
  list(name: string): readonly string[];
  has(name: string): boolean;
  readonly out: Output;
  /** What an error means to a person. */
  explain(error: unknown): Failure;
  readonly host: Host;
  /** The relay and the credential that were chosen. @throws {NotSignedInError} */
  target(): Target;
  /** A client of that relay with that credential. @throws {NotSignedInError} */
  relay(): Client;
}

/** Options of every command. */
export const EVERYWHERE: readonly Option[] = [
  { name: "url", value: "address", about: "The relay. Also from RELAY_URL." },
  { name: "profile", value: "name", about: "The sign-in to use; see relay whoami." },
  { name: "output", value: "format", letter: "o", about: "table, json or yaml." },
  { name: "json", about: "The same as -o json." },
  { name: "quiet", letter: "q", about: "Print ids only, and no notes." },
  { name: "no-color", about: "Print without colors. Also with NO_COLOR." },
];

/** Options of several commands. */
export const LIMIT: Option = {
  name: "limit",
  value: "number",
  about: "At most this many; default: 50.",
};
export const OFFSET: Option = { name: "offset", value: "number", about: "Skip this many." };
export const REASON: Option = {
  name: "reason",
  value: "text",
  about: "For people and the audit log.",
};
export const YES: Option = { name: "yes", letter: "y", about: "Do not ask." };

/** Exit codes of every command. */
export const EXITS: readonly (readonly [code: string, meaning: string])[] = [
  ["0", "success"],
  ["1", "the relay refused, or the work failed"],
  ["2", "wrong arguments"],
  ["3", "not signed in, or the credential is not accepted"],
  ["4", "the relay cannot be reached"],
];
