import { z } from "zod";

/** The marker for a part of a word that is unknown before the command runs; NUL cannot occur in an argument. */
export const UNKNOWN = "\0";

/** Markers for an unknown part of known origin: the network, a decoder, a credential. */
export const FROM_NETWORK = "\0\x01";
export const FROM_DECODER = "\0\x02";
export const FROM_SECRET = "\0\x03";

/** The marker for an unknown part that another command or a file lists: names of files, numbers of processes. */
export const LISTED = "\0\x05";

/** The marker for the folder of temporary files, whose variable may be unset. */
export const TEMPORARY_FOLDER = "\0\x04";

/** A text that may also be another one, or empty. */
export const perhaps = (text: string): string => text === "" ? UNKNOWN : `${UNKNOWN} ${text}`;

/** Bytes that flow between commands: their text, if it is known, and their origin. */
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
  /** The paths that it lists, as far as they are known; `xargs` reads them. */
  readonly paths?: readonly string[];
}

export const NOTHING: Flow = {
  text: null,
  network: false,
  decoded: false,
  secret: false,
  bulk: false,
};

/** The text of a flow, or the marker for its origin. */
export function flowText(flow: Flow): string {
  if (flow.text !== null) return flow.text;
  if (flow.network) return FROM_NETWORK;
  if (flow.decoded) return FROM_DECODER;
  if (flow.secret) return FROM_SECRET;
  return flow.paths === undefined || flow.paths.length === 0 ? LISTED : flow.paths.join("\n");
}

/** A flow of text that may contain markers. */
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

/** Concatenates flows. */
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

/** One redirection of a command; `fd` is null where the operator's default applies. */
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
  /** The program's short options that take a value, if they are often bundled; null for other programs. */
  readonly valuedLetters: string | null;
  /** The arguments after the name; they may contain markers for unknown parts. */
  readonly args: readonly string[];
  readonly redirections: readonly Redirection[];
  readonly assignments: ReadonlyMap<string, string>;
  /** The folder that the line has changed to; `.` where it has not. */
  readonly cwd: string;
  /** Its standard input; null when nothing is piped in. */
  readonly stdin: Flow | null;
  /** The content of the files that it names, as far as the line itself wrote them; null for none. */
  readonly inputs: Flow | null;
  /** The wrappers around it, the outermost first: `["sudo", "sh"]`. */
  readonly wrappers: readonly string[];
  readonly span: Span;
  /** Answers of `once` and other questions about the command. */
  readonly memo: Memo;
}

/** Cached answers about a command; null for a question that was not asked yet. */
interface Memo {
  words: readonly string[] | null;
  rehearsal: boolean | null;
  /** Answers by question. */
  facts: Map<unknown, unknown> | null;
}

/** Makes a command without cached answers. */
export function newCommand(given: Omit<SimpleCommand, "memo">): SimpleCommand {
  // Written out: a spread copies the object that the caller has just made, and takes twice the memory.
  return {
    name: given.name,
    program: given.program,
    valuedLetters: given.valuedLetters,
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

/** Asks a function about a command and caches the answer, because many rules ask the same. */
export function once<T>(command: SimpleCommand, ask: (command: SimpleCommand) => T): T {
  const facts = command.memo.facts ??= new Map();
  if (facts.has(ask)) return facts.get(ask) as T;
  const fact = ask(command);
  facts.set(ask, fact);
  return fact;
}

/** 1: one file. 2: one project or container. 3: a data set. 4: a machine or account. 5: everything within reach. */
export type Blast = 1 | 2 | 3 | 4 | 5;
/** Undone: 1 at once, 2 with a command, 3 by redoing work, 4 only from a backup, 5 not at all. */
export type Irreversibility = 1 | 2 | 3 | 4 | 5;

/** The rule packs; a policy may name a whole pack. */
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
  | "escalation"
  | "production"
  | "services"
  | "persistence"
  | "code"
  | "structure"
  | "behaviour";

/** A question about a command, such as its subcommand, and the answers that the rule accepts. */
export interface Condition {
  readonly ask: (command: SimpleCommand) => string;
  readonly answers: readonly string[];
}

/** The scan of code in another language. */
export interface CodeScan {
  readonly language: string;
  readonly code: string;
  /** Lower-case names, with their dots: `os.system`, `require`, `shutil.rmtree`. */
  readonly names: ReadonlySet<string>;
  readonly strings: readonly string[];
  /** Strings that the code hands to a shell, or arguments that it joins into a command. */
  readonly shellTexts: readonly string[];
  /** PowerShell statements, in a form that a shell parser can read. */
  readonly statements: readonly string[];
  /** Whether it starts a program whose name is not a literal. */
  readonly computes: boolean;
  /** Whether it deletes a path that is not a literal; literal paths are among `shellTexts`. */
  readonly removesUnseen: boolean;
}

/** A rule, as `rule()` makes it. */
export interface Rule {
  /** Stable: `<pack>.<what>`; it stands in audit rows and in policies. */
  readonly id: string;
  readonly pack: Pack;
  /** What the command does, in a few words. */
  readonly title: string;
  /** Names of the programs it matches; null for every command; empty for a rule that the walk raises. */
  readonly commands: readonly string[] | null;
  /** It also matches any command with redirections, or with variables set before it. */
  readonly also: readonly ("redirected" | "assigned")[] | null;
  /** A condition for asking `match`; the index of rules uses it, so rules that share a question are found by its answer. */
  readonly when: Condition | null;
  readonly match: (command: SimpleCommand) => boolean;
  /** Whether code in another language matches; null for a rule about commands. */
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

/** The shield's verdict on one command. */
export const Verdict = z.enum(["allow", "approve", "deny"]).meta({ id: "Verdict" });
export type Verdict = z.infer<typeof Verdict>;

/** The layer that decided: the organization's policy, a rule pack, the parsed structure, or a chain over a session. */
export const ShieldLayer = z.enum(["policy", "patterns", "structure", "behaviour"])
  .meta({ id: "ShieldLayer" });

export type ShieldLayer = z.infer<typeof ShieldLayer>;

const SpanShape = z.object({ start: z.int().min(0), end: z.int().min(0) }).meta({ id: "Span" });

/** The shield's answer for one command; offsets of `span` are UTF-16 units of the command as given. */
export const ShieldResult = z.object({
  verdict: Verdict,
  risk_score: z.int().min(0).max(100).describe(
    "The risk score: blast radius × irreversibility of the worst finding.",
  ),
  threats: z.array(z.string()).describe("The kinds of harm, worst first."),
  layer: ShieldLayer,
  rule_ids: z.array(z.string()).describe("The ids of the matching rules, worst first."),
  explanation: z.string().describe("The explanation, as a sentence for people."),
  safer_alternative: z.string().nullable(),
  span: SpanShape.nullable()
    .describe("The part of the command that the worst finding concerns."),
  watched: z.array(z.string()).optional()
    .describe("The ids of the matching rules that only watch; absent when there is none."),
}).meta({ id: "ShieldResult" });
export type ShieldResult = z.infer<typeof ShieldResult>;

/** The result for a command without findings. */
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
