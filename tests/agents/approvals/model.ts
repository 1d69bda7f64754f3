/**
 * A model of who may be acting, derived from the observed steps and not from Relay's records: every credential knows
 * the people who were given it, and the people as whom its use must count.
 */

/** A person, by the id of the account that they accepted. */
export type Person = string;
/** The people as whom something counts. */
export type Group = ReadonlySet<Person> | "everybody";

export const joined = (a: Group, b: Group): Group =>
  a === "everybody" || b === "everybody" ? "everybody" : new Set([...a, ...b]);

export const shareSomebody = (a: Group, b: Group): boolean =>
  a === "everybody"
    ? b === "everybody" || b.size > 0
    : [...a].some((p) => b === "everybody" || b.has(p));

/** The account of one person, with the access that others were given. */
export interface Account {
  readonly id: Person;
  readonly email: string;
  readonly roles: Set<string>;
  active: boolean;
  password: string;
  /** The people who know the password. */
  passwordOf: Set<Person>;
  /** The people as whom a sign-in counts. */
  counts: Group;
  /** The secret of the second factor, and the people who saw it. */
  factor: { readonly secret: string; readonly knownTo: Person } | null;
}

/** A sign-in and the people who hold it. */
export interface Session {
  readonly kind: "session";
  readonly account: Account;
  readonly holder: Person;
  readonly text: string;
  readonly sinceMs: number;
}

export interface Key {
  readonly id: string;
  readonly account: Account;
  scopes: readonly string[];
  /** The newest value first, then the one before it. */
  values: readonly KeyValue[];
  endMs: number;
}

export interface KeyValue {
  readonly kind: "key";
  readonly text: string;
  readonly account: Account;
  /** The people who saw it in an answer. */
  readonly knownTo: Set<Person>;
  counts: Group;
}

export type Credential = Session | KeyValue;

export interface Bot {
  readonly id: string;
  text: string;
  knownTo: Set<Person>;
  counts: Group;
  /** Null while it exists. */
  goneMs: number | null;
}

/** A code that links a Telegram account to its maker. */
export interface Code {
  readonly account: Account;
  readonly text: string;
  readonly madeMs: number;
  readonly counts: Group;
  readonly knownTo: Set<Person>;
}

export interface Link {
  readonly account: Account;
  readonly bot: Bot;
  /** The Telegram account and its owner. */
  readonly telegram: number;
  readonly holder: Person;
  readonly counts: Group;
}

/** An approval, and the people as whom it counts. */
export interface Vote {
  readonly by: Person;
  readonly counts: Group;
  /** Set for the confirmed approval of an own request by the only member. */
  readonly alone: boolean;
}

/** A command that waits, or waited. */
export interface Request {
  readonly pid: string;
  readonly commandId: string;
  /** When it was made. */
  readonly atMs: number;
  /** The person who really asked. */
  readonly asker: Person;
  readonly counts: Group;
  readonly selfAllowed: boolean;
  readonly required: number;
  votes: Vote[];
  approved: boolean;
}

/** The people as whom the use of a credential counts. */
export const countsAs = (credential: Credential): Group =>
  credential.kind === "session" ? credential.account.counts : credential.counts;

/** The largest number of these groups that share no person. */
export function mostApart(groups: readonly Group[]): number {
  const [first, ...rest] = groups;
  if (first === undefined) return 0;
  const apart = rest.filter((other) => !shareSomebody(first, other));
  return Math.max(mostApart(rest), 1 + mostApart(apart));
}
