import type { SimpleCommand } from "./command.ts";

/** 1 one file, 2 one project or container, 3 a data set, 4 a machine or account, 5 everything within reach. */
export type Blast = 1 | 2 | 3 | 4 | 5;
/** 1 undone at once, 2 with a command, 3 by redoing work, 4 only from a backup, 5 not at all. */
export type Irreversibility = 1 | 2 | 3 | 4 | 5;

/** The rule packs; an organization's policy may speak of a whole pack. */
export type Pack =
  | "filesystem"
  | "disks"
  | "git"
  | "network"
  | "credentials"
  | "containers"
  | "kubernetes"
  | "cloud"
  | "databases"
  | "packages"
  | "services"
  | "persistence"
  | "code"
  | "structure"
  | "behaviour";

/** What a question says of a command, such as its subcommand, has to be one of these. */
export interface Condition {
  readonly ask: (command: SimpleCommand) => string;
  readonly answers: readonly string[];
}

/** One line of the rule table. */
export interface Rule {
  /** Stable: `<pack>.<what>`; it stands in audit rows and in policies. */
  readonly id: string;
  readonly pack: Pack;
  /** Names that this rule looks at; null looks at every command; an empty list is raised by the walk itself. */
  readonly commands: readonly string[] | null;
  /** It also looks at every command with redirections, or with variables set before it. */
  readonly also?: readonly ("redirected" | "assigned")[];
  /** Only commands of which this is true are shown to `match`; rules that ask the same are found by the answer. */
  readonly when?: Condition;
  match(command: SimpleCommand): boolean;
  readonly blast: Blast;
  readonly irreversibility: Irreversibility;
  readonly threat: string;
  readonly explanation: string;
  readonly safer_alternative: string | null;
}
