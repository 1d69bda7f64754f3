import { z } from "zod";

/** What stands for a part of a word that cannot be known before it runs; NUL cannot occur in a real argument. */
export const UNKNOWN = "\0";

/** UNKNOWN with its origin: text from the network, decoded text, a credential. They survive variables and quotes. */
export const FROM_NETWORK = "\0\x01";
export const FROM_DECODER = "\0\x02";
export const FROM_SECRET = "\0\x03";

/** The folder for temporary files, which is not set everywhere. */
export const TEMPORARY_FOLDER = "\0\x04";

/** Text that may come out otherwise, or be empty. */
export const perhaps = (text: string): string => text === "" ? UNKNOWN : `${UNKNOWN} ${text}`;

/** Bytes that flow between commands: their text if it is known, and what is known of their origin. */
export interface Flow {
  readonly text: string | null;
  /** Comes from the network. */
  readonly network: boolean;
  /** Was decoded (base64, hex, rot13, decompression). */
  readonly decoded: boolean;
  /** Comes from a file or a command that holds credentials. */
  readonly secret: boolean;
  /** Holds a database, or folders of the system or of people, as a whole. */
  readonly bulk: boolean;
  /** The paths that it lists, as far as the names say; for what `xargs` makes of them. */
  readonly paths?: readonly string[];
}

export const NOTHING: Flow = {
  text: null,
  network: false,
  decoded: false,
  secret: false,
  bulk: false,
};

/** The word that stands for a flow inside other text. */
export function flowText(flow: Flow): string {
  if (flow.text !== null) return flow.text;
  if (flow.network) return FROM_NETWORK;
  if (flow.decoded) return FROM_DECODER;
  return flow.secret ? FROM_SECRET : UNKNOWN;
}

/** A flow of text that may hold such words. */
export function textFlow(text: string): Flow {
  return {
    text,
    network: text.includes(FROM_NETWORK),
    decoded: text.includes(FROM_DECODER),
    secret: text.includes(FROM_SECRET),
    bulk: false,
  };
}

/** A flow of known text. */
export function known(text: string, from: Flow = NOTHING): Flow {
  return { ...from, text };
}

/** One flow after the other. */
export function mergeFlows(flows: readonly Flow[]): Flow {
  let text: string | null = "";
  let network = false;
  let decoded = false;
  let secret = false;
  let bulk = false;
  for (const flow of flows) {
    text = text === null || flow.text === null ? null : text + flow.text;
    network ||= flow.network;
    decoded ||= flow.decoded;
    secret ||= flow.secret;
    bulk ||= flow.bulk;
  }
  return { text, network, decoded, secret, bulk };
}

/** One redirection of a command; `fd` is null where the operator's own default applies. */
export interface Redirection {
  readonly operator: string;
  readonly fd: number | null;
  readonly target: string;
}

/** Offsets in the command that the caller gave. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A simple command after expansion and unwrapping: what the rules look at. */
export interface SimpleCommand {
  /** The program's name, lower case, without its folder. */
  readonly name: string;
  /** The program as written, such as `/bin/rm`. */
  readonly program: string;
  /** The arguments after the name; UNKNOWN stands for what cannot be known. */
  readonly args: readonly string[];
  readonly redirections: readonly Redirection[];
  readonly assignments: ReadonlyMap<string, string>;
  /** The folder that the line has changed to; `.` where it has not. */
  readonly cwd: string;
  /** What it reads; null when nothing is piped in. */
  readonly stdin: Flow | null;
  /** What the files hold that it names, as far as the line wrote them itself; null for nothing. */
  readonly inputs: Flow | null;
  /** The wrappers around it, the outermost first: `["sudo", "sh"]`. */
  readonly wrappers: readonly string[];
  readonly span: Span;
  /** What has been found out about it; see `once`. */
  readonly memo: Memo;
}

/** What was asked of a command before; null for what was not asked yet. */
interface Memo {
  words: readonly string[] | null;
  rehearsal: boolean | null;
  /** Questions, each followed by its answer: they are too few for a map. */
  facts: unknown[] | null;
}

/** A command of which nothing was asked yet. All have one layout: fields are read most of the time. */
export function newCommand(given: Omit<SimpleCommand, "memo">): SimpleCommand {
  return {
    name: given.name,
    program: given.program,
    args: given.args,
    redirections: given.redirections,
    assignments: given.assignments,
    cwd: given.cwd,
    stdin: given.stdin,
    inputs: given.inputs,
    wrappers: given.wrappers,
    span: given.span,
    memo: { words: null, rehearsal: null, facts: null },
  };
}

/** A rule that matched, and where. */
export interface Finding {
  readonly rule: Rule;
  readonly span: Span;
  readonly wrapped: boolean;
}

/** What a function says of a command: many rules ask the same, so it is asked once. */
export function once<T>(command: SimpleCommand, ask: (command: SimpleCommand) => T): T {
  const facts = command.memo.facts ??= [];
  const at = facts.indexOf(ask);
  if (at >= 0) return facts[at + 1] as T;
  const fact = ask(command);
  facts.push(ask, fact);
  return fact;
}

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

/** What was read of code of another language. */
export interface CodeScan {
  readonly language: string;
  readonly code: string;
  /** Lower-case names, with their dots: `os.system`, `require`, `shutil.rmtree`. */
  readonly names: ReadonlySet<string>;
  readonly strings: readonly string[];
  /** Strings that the code hands to a shell, or arguments that it joins into a command. */
  readonly shellTexts: readonly string[];
  /** PowerShell's own statements, as far as they read as those of a shell. */
  readonly statements: readonly string[];
  /** Whether it starts a program by anything but a literal. */
  readonly computes: boolean;
  /** Whether it deletes anything but what a literal names; that is among the texts for a shell. */
  readonly removesUnseen: boolean;
}

/** One line of the rule table. */
export interface Rule {
  /** Stable: `<pack>.<what>`; it stands in audit rows and in policies. */
  readonly id: string;
  readonly pack: Pack;
  /** What the command does, in a few words. */
  readonly title: string;
  /** Names that this rule looks at; null looks at every command; an empty list is raised by the walk itself. */
  readonly commands: readonly string[] | null;
  /** It also looks at every command with redirections, or with variables set before it. */
  readonly also: readonly ("redirected" | "assigned")[] | null;
  /** Only commands of which this is true are shown to `match`; rules that ask the same are found by the answer. */
  readonly when: Condition | null;
  readonly match: (command: SimpleCommand) => boolean;
  /** Whether code of another language does what the rule is about; null for a rule about commands. */
  readonly matchCode: ((scan: CodeScan) => boolean) | null;
  readonly blast: Blast;
  readonly irreversibility: Irreversibility;
  readonly threat: string;
  readonly explanation: string;
  readonly safer_alternative: string | null;
  /** Commands on which it fires; of a list, on the last. */
  readonly hits: Examples;
  /** Everyday commands like them on which no rule of its pack fires. */
  readonly misses: Examples;
}

/** A command, or the commands of one session in their order. */
export type Example = string | readonly string[];
export type Examples = readonly [Example, Example, ...Example[]];

/** From this score on a person must approve the command. */
export const APPROVE_SCORE = 30;
/** From this score on the command is refused, and cannot be approved. */
export const DENY_SCORE = 70;

/** What the shield says about one command. */
export const Verdict = z.enum(["allow", "approve", "deny"]);
export type Verdict = z.infer<typeof Verdict>;

/** The layer that decided: the organization's policy, a rule pack, the parsed structure, or a chain over a session. */
export const ShieldLayer = z.enum(["policy", "patterns", "structure", "behaviour"]);
export type ShieldLayer = z.infer<typeof ShieldLayer>;

/** The shield's answer for one command; offsets of `span` are UTF-16 units of the command as given. */
export const ShieldResult = z.object({
  verdict: Verdict,
  risk_score: z.int().min(0).max(100).describe("Blast radius × irreversibility of what was found."),
  threats: z.array(z.string()).describe("Kinds of harm, the worst first."),
  layer: ShieldLayer,
  rule_ids: z.array(z.string()).describe("Stable ids of the rules that matched, the worst first."),
  explanation: z.string().describe("Why, in a sentence for people."),
  safer_alternative: z.string().nullable(),
  span: z.object({ start: z.int().min(0), end: z.int().min(0) }).nullable()
    .describe("The part of the command that the worst finding is about."),
});
export type ShieldResult = z.infer<typeof ShieldResult>;

/** What it says of most commands. */
export const HARMLESS: ShieldResult = {
  verdict: "allow",
  risk_score: 0,
  threats: [],
  layer: "structure",
  rule_ids: [],
  explanation: "Nothing harmful was found.",
  safer_alternative: null,
  span: null,
};
for (const part of [HARMLESS.threats, HARMLESS.rule_ids, HARMLESS]) Object.freeze(part);
