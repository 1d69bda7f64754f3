import { ScriptedAgent } from "../../support/agent.ts";
import type { Random } from "../../support/random.ts";
import type { World } from "../../support/world.ts";
import { codeOf, logIn } from "../../access/account_fixtures.ts";
import { AGENT_RIGHTS } from "../../support/linked_agent.ts";
import type {
  Account,
  Bot,
  Code,
  Credential,
  Key,
  KeyValue,
  Link,
  Person,
  Request,
  Session,
} from "./model.ts";

const MINUTE_MS = 60_000;
/** The lifetime of a JWT. */
const SIGN_IN_AGAIN_MS = 50 * MINUTE_MS;
/** Longer than one code of an authenticator. */
const CODE_MS = 30_000;
export const CUSTOM_ROLE = "keeper";
const ROLES = ["admin", "admin", "operator", CUSTOM_ROLE];

/** Counts of cases over all histories, which show that the guarantee was tested. */
export type Tally = Map<string, number>;

/** One organization with the people, credentials and requests of one history. */
export class Organization {
  readonly accounts: Account[] = [];
  sessions: Session[] = [];
  readonly keys: Key[] = [];
  readonly bots: Bot[] = [];
  readonly codes: Code[] = [];
  readonly links: Link[] = [];
  readonly requests: Request[] = [];
  customRights: readonly string[] = ["approvals:write", "agents:write"];
  selfApproval = false;
  required = 1;
  /** The person whose change to self-approval is pending. */
  pending: { readonly id: string; readonly by: Person } | null = null;
  agent!: ScriptedAgent;
  #names = 0;

  private constructor(
    readonly world: World,
    readonly dice: Random,
    readonly tally: Tally,
  ) {}

  static async found(world: World, dice: Random, tally: Tally): Promise<Organization> {
    const own = new Organization(world, dice, tally);
    const founder = await world.signUp();
    const password = `password ${/\d+/.exec(founder.email)}`;
    const link = await world.key(founder, AGENT_RIGHTS);
    own.agent = await ScriptedAgent.connect(world, link.value);
    own.add({ id: founder.userId, email: founder.email }, password, ["owner"], founder.token);
    const role = { name: CUSTOM_ROLE, permissions: own.customRights };
    await world.call("POST", "/api/v1/roles", { as: founder.token, body: role });
    // Some founders stay alone until they invite somebody.
    for (const name of dice.chance(0.3) ? [] : ROLES) {
      const { userId, email, token } = await world.join(founder, [name]);
      own.add({ id: userId, email }, password, [name], token);
    }
    return own;
  }

  /** Adds an account that a new person accepted, with the resulting sign-in. */
  add(
    who: Pick<Account, "id" | "email">,
    password: string,
    roles: readonly string[],
    text: string,
  ) {
    const self = new Set([who.id]);
    const account: Account = {
      ...who,
      roles: new Set(roles),
      active: true,
      password,
      passwordOf: new Set(self),
      counts: self,
      factor: null,
    };
    this.accounts.push(account);
    this.#signedIn(account, account.id, text);
  }

  #signedIn(account: Account, holder: Person, text: string): Session {
    const sinceMs = this.world.clock.nowMs;
    const session: Session = { kind: "session", account, holder, text, sinceMs };
    this.sessions.push(session);
    return session;
  }

  count(what: string): void {
    this.tally.set(what, (this.tally.get(what) ?? 0) + 1);
  }

  name = () => `name ${++this.#names}`;

  /** Signs a person in to an account whose password they know; null where they cannot. */
  async signIn(account: Account, person: Person): Promise<Session | null> {
    const { world } = this;
    const open = this.sessions.find((session) =>
      session.account === account && session.holder === person &&
      world.clock.nowMs - session.sinceMs < SIGN_IN_AGAIN_MS
    );
    if (open !== undefined) return open;
    const { factor, email, password } = account;
    if (!account.passwordOf.has(person) || !account.active) return null;
    if (factor !== null && factor.knownTo !== person) return null;
    if (factor !== null) world.clock.nowMs += CODE_MS;
    const code = factor === null ? undefined : codeOf(world, factor.secret);
    const { status, body, text } = await logIn(world, email, password, code);
    if (status !== 200) throw new Error(`sign-in answered ${text}`);
    if (account.id !== person) this.count("sign-in to another's account");
    return this.#signedIn(account, person, body.token);
  }

  /** Ends all sign-ins to an account but one. */
  endSessions(account: Account, kept: Session | null = null): void {
    this.sessions = this.sessions.filter((each) => each.account !== account || each === kept);
  }

  values = (): KeyValue[] => this.keys.flatMap(({ values }) => values);

  /** Whether nobody has ever joined the founder. */
  get alone(): boolean {
    return this.accounts.length === 1;
  }

  person = (): Person => this.dice.pick(this.accounts).id;

  accountOf = (person: Person): Account => this.accounts.find(({ id }) => id === person)!;

  /** An account that a person can sign in to: their own, or one whose password they were given. */
  enterable(person: Person): Account {
    const others = this.accounts.filter(({ id, passwordOf }) =>
      id !== person && passwordOf.has(person)
    );
    return others.length > 0 && this.dice.chance(0.6)
      ? this.dice.pick(others)
      : this.accountOf(person);
  }

  session = (person: Person): Promise<Session | null> =>
    this.signIn(this.enterable(person), person);

  /** A credential that a person can use, which may be another's. */
  async credential(person: Person): Promise<Credential | null> {
    const known = this.values().filter(({ knownTo }) => knownTo.has(person));
    const others = known.filter(({ account }) => account.id !== person);
    if (others.length > 0 && this.dice.chance(0.3)) return this.dice.pick(others);
    if (known.length > 0 && this.dice.chance(0.4)) return this.dice.pick(known);
    return await this.session(person);
  }
}
