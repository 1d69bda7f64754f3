import type { Program } from "./programs/programs.ts";
import type { Rule } from "./rule.ts";

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
  /** What the tables say of the program. */
  readonly kind: Program;
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
    kind: given.kind,
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
