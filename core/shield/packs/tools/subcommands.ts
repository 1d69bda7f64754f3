import { separated } from "../production/cloud_words.ts";
import { setOf } from "../production/cloud_words.ts";

/** What a command does to a running system. */
export type Effect = "destroy" | "change" | "access" | "secret";

/** What a subcommand does, by its verb. */
const VERBS: readonly (readonly [effect: Effect, verbs: string])[] = [
  [
    "destroy",
    "delete del destroy drop erase expunge nuke obliterate purge remove rm shred teardown terminate truncate " +
    "wipe zap deregister unregister undeploy",
  ],
  [
    "change",
    "abort allowlist apply ban blacklist block blocklist bypass cordon cutover deactivate decommission " +
    "defrag demote deploy deprovision detach disable disarm downgrade drain enable evacuate evict expose " +
    "fail failback failover fence fencing halt hibernate invalidate isolate kick kill lost migrate pause " +
    "powercycle powerdown poweroff promote publish quarantine quiesce rebalance reboot reconfigure " +
    "redeploy reimage rekey reload relocate renew reprovision reset restart restore retire revert " +
    "rollback rollout rotate scale seal shutdown stonith stop suspend switchover taint takedown takeover " +
    "throttle unassign unban unblock unenroll unprotect unsubscribe vacuum whitelist",
  ],
  ["access", "chpasswd elevate grant impersonate passwd revoke setpassword"],
  ["secret", "decrypt reveal unseal"],
];

/** Verbs of daily work, unless the word before them names what they act on: `service start api`. */
const BEHIND_A_NOUN: readonly (readonly [effect: Effect, verbs: string])[] = [
  [
    "destroy",
    "archive cleanup clear empty expire flush forget format gc prune reap undefine unlink unset",
  ],
  [
    "change",
    "activate approve attach bootstrap cancel compact deny edit eject exclude import initialize join " +
    "leave lock merge modify move offline online overwrite patch reassign rebuild recover refresh reindex " +
    "reinit reject release rename repair replace resize resume resync scrub shrink start swap switch sync " +
    "transfer trigger unbind undo unjoin unlock unmount unpublish update upgrade",
  ],
];

/** Verbs that end the search, because what follows them is a name or a text. */
export const ASKS = setOf(
  "ask bench benchmark cat check compare completion convert count describe diff doc docs download echo exec " +
    "explain fetch find fmt format g gen generate get help history info init inspect install lint list log login logout " +
    "logs lookup ls man open ping plan play preview print pull query read render run say search select send " +
    "serve show stat stats status tail test top validate verify version view watch where which who whoami",
);

/** Verbs that give access if what they make is an account, a right or a credential. */
const GIVES = setOf(
  "add assign attach bind change create generate invite issue put reset set update",
);
const ACCESS_NOUNS = setOf(
  "access account accounts acl admin admins apikey apikeys binding bindings credential credentials grant grants key " +
    "keys login member members operator operators owner owners password passwords permission permissions policy " +
    "policies principal principals privilege privileges role roles superuser token tokens user users",
);

/** Settings that rule what a system keeps or lets through: `retention set 1d`. */
const RULES = setOf("limit limits maintenance mode quota quotas replicas retention ttl weight");
const SETS = setOf("set update");

/** Verbs that show a secret if they name one. */
const SHOWS = setOf("cat copy download dump export fetch get print read show view");
const WRITES_OUT = setOf("dump export");
const KEYS = setOf("key keys");
const SECRET_NOUNS = setOf(
  "apikey credential credentials passphrase password passwords privatekey secret secrets token",
);

/** What may be destroyed or changed at any time. */
const OWN_NOUNS = setOf(
  "alias aliases bookmark bookmarks build builds cache caches completion completions config context draft drafts " +
    "dev history local note notes sandbox test tests theme tmp todo",
);

/** Options that rehearse or ask. */
const PASSES = setOf(
  "--check --diff --dry --dry-run --dryrun --help --list --no-act --no-op --noop --preview --print-only " +
    "--simulate --validate --what-if --whatif -h",
);

/** Options of which no value follows. */
const SWITCHES = setOf(
  "--debug --force --json --no-color --non-interactive --quiet --sudo --verbose --yes -d -f -q -v -vv -y",
);

/** Options whose value is a text, even if it is a verb. */
const TAKES_TEXT = setOf(
  "--comment --description --filter --grep --label --message --mode --name --pattern --query --reason --search --title " +
    "-k -m",
);

const verbs = new Map<string, { readonly effect: Effect; readonly isMild: boolean }>();
for (const [effect, words] of VERBS) {
  for (const word of words.split(" ")) verbs.set(word, { effect, isMild: false });
}
for (const [effect, words] of BEHIND_A_NOUN) {
  for (const word of words.split(" ")) verbs.set(word, { effect, isMild: true });
}

/** What the word for a verb is often joined with: `resetdb`, `--delete-all`. */
const THINGS = setOf(
  "account accounts all backup backups cluster data database databases db disk disks group groups host hosts index " +
    "key keys network node nodes password pool queue role server service snapshot snapshots table tables tenant topic " +
    "user users vm volume volumes",
);

const WORDS_MAX = 4;
/** Longer words are no subcommands. */
const LENGTH_MAX = 40;
const OPTIONS_MAX = 12;
const DASH = 0x2d;
/** Words after a verb that make it a question: `rollback status`. */
const ANSWERS = setOf(
  "check describe diff get hash help history info inspect lint list logs ls notes plan preview show status validate view",
);
/** Words within a name that make it a question: `safe-to-destroy`, `can-i`. */
const QUESTIONS = setOf("can is may ok safe who");
const APPLIES = setOf("apply deploy import promote publish restore rollback");
const OFF = setOf("0 false no none off");
/** Verbs that make something at the first place, which their further words name. */
const MAKES = setOf("add create new set");
const PLAIN = /^[A-Za-z][A-Za-z0-9]*(?:[-_:.][A-Za-z0-9]+)*$/;
const PARTED = /[-_:.]/;

/** The first words that are no options and no values of options. */
export function wordsOfCall(args: readonly string[]): string[] {
  const words: string[] = [];
  let mayBeValue = false;
  let isText = false;
  for (const arg of args) {
    if (arg === "--" || words.length === WORDS_MAX) break;
    if (arg.charCodeAt(0) === DASH) {
      mayBeValue = !arg.includes("=") && !SWITCHES.has(arg);
      isText = TAKES_TEXT.has(arg);
      continue;
    }
    const isValue = mayBeValue && (isText || verbs.get(arg)?.isMild !== false);
    mayBeValue = false;
    if (!isValue) words.push(isWord(arg, words.length) ? separated(arg) : "");
  }
  return words;
}

/** A capital behind the first word begins the name of a thing: `gen component DeleteButton`. */
const isWord = (arg: string, at: number): boolean =>
  arg.length <= LENGTH_MAX && PLAIN.test(arg) && (at === 0 || !NAME.test(arg));
const NAME = /^[A-Z][a-z]/;

/** Reads the words from the first on, up to one that asks or makes something; empty if it is one of these. */
export function effectOfWords(words: readonly string[], isForAll = false): Effect | "" | null {
  for (const [at, word] of words.entries()) {
    const before = words[at - 1] ?? "";
    const next = words[at + 1] ?? "";
    if (RULES.has(before) && SETS.has(word)) return "change";
    if (GIVES.has(word) && (ACCESS_NOUNS.has(before) || ACCESS_NOUNS.has(next))) return "access";
    const first = firstPart(word);
    if (SHOWS.has(first) && showsSecret(first, before, words.slice(at + 1))) return "secret";
    const effect = effectOfWord(word, before !== "" || isForAll);
    if (effect !== null) return isDailyWork(word, effect, before, next) ? "" : effect;
    if (ASKS.has(first) || QUESTIONS.has(first) || (at === 0 && MAKES.has(first))) return "";
  }
  return null;
}

/** `rollback status` only asks, `cache purge` is made again; but `config apply` changes more than itself. */
function isDailyWork(word: string, effect: Effect, before: string, next: string): boolean {
  if (effect !== "destroy" && ANSWERS.has(next)) return true;
  if (before === "config") return !APPLIES.has(word);
  return OWN_NOUNS.has(before) || OWN_NOUNS.has(next);
}

/** The part of a word up to its first separator. */
export const firstPart = (word: string): string => word.split(PARTED, 1)[0]!;

/** `secret get db` and `get secret db` show one; `get secrets` lists the names. */
const showsSecret = (
  verb: string,
  before: string,
  [next, other]: readonly string[],
): boolean =>
  SECRET_NOUNS.has(before)
    ? next !== undefined || WRITES_OUT.has(verb)
    : KEYS.has(before)
    ? WRITES_OUT.has(verb)
    : next !== undefined && SECRET_NOUNS.has(next) &&
      (other !== undefined || !next.endsWith("s") || WRITES_OUT.has(verb));

function effectOfWord(word: string, isBehindNoun: boolean): Effect | null {
  const verb = verbs.get(word);
  if (verb !== undefined) return verb.isMild && !isBehindNoun ? null : verb.effect;
  return PARTED.test(word) ? effectOfParts(word) : effectOfJoined(word);
}

/** `set-password`, `db:drop`, `cluster.destroy`: the verb stands first or last. */
export function effectOfParts(word: string): Effect | null {
  const [initial = "", ...others] = word.split(PARTED);
  // `v-delete-user`: a letter may stand for the vendor.
  const parts = initial.length === 1 ? others : [initial, ...others];
  const first = parts[0]!;
  const last = parts.at(-1)!;
  if (parts.some((part) => OWN_NOUNS.has(part))) return null;
  if (GIVES.has(last) && ACCESS_NOUNS.has(first)) return "access";
  if ((GIVES.has(first) || GIVES.has(parts.at(-2)!)) && ACCESS_NOUNS.has(last)) return "access";
  if (SHOWS.has(first) && SECRET_NOUNS.has(last)) return "secret";
  if (SETS.has(first) && RULES.has(last)) return "change";
  if (first === "add" && parts[1] === "to") return "access";
  if (ASKS.has(first) || QUESTIONS.has(first)) return null;
  // The start of `drop.md` is a file's name.
  const leading = word.includes(".") ? undefined : verbs.get(first);
  if (leading !== undefined && !(leading.isMild && leading.effect === "change")) {
    return leading.effect;
  }
  // `power-off` is `poweroff`.
  return (verbs.get(last) ?? verbs.get(parts.join("")))?.effect ?? null;
}

/** `resetdb`, `deleteuser`, `removekeeper`; but `deletions` are things. */
function effectOfJoined(word: string): Effect | null {
  const long = LONG_VERB.exec(word)?.[1];
  if (long !== undefined) return verbs.get(long)?.effect ?? null;
  for (let length = VERB_MIN; length < word.length - 1 && length <= VERB_MAX; length++) {
    if (!THINGS.has(word.slice(length))) continue;
    const verb = word.slice(0, length);
    const known = verbs.get(verb);
    if (known !== undefined) return known.effect;
    if (GIVES.has(verb) && ACCESS_NOUNS.has(word.slice(length))) return "access";
  }
  return null;
}

const LONG_VERB =
  /^(decommission|delete|destroy|disable|remove|restart|shutdown|terminate)(?!able|d$|ion|ing|r$|rs$|s$)[a-z]{3}/;
const VERB_MIN = 3;
const VERB_MAX = 9;

/** `--delete`, `--purge-all`, `--removenode`, and an action that is the first option: `--restart`. */
export function effectOfOptions(args: readonly string[]): Effect | null {
  for (const [at, arg] of args.slice(0, OPTIONS_MAX).entries()) {
    if (!arg.startsWith("--") || arg.length > LENGTH_MAX || arg.includes("=")) continue;
    const word = arg.slice(2);
    const verb = verbs.get(word);
    const effect = verb !== undefined ? verb.effect : effectOfJoined(word.replace("-", ""));
    if (effect === "destroy" && !verb?.isMild) return effect;
    if (at === 0 && verb?.isMild === false) return effect;
  }
  return null;
}

/** Whether a call asks for help, or rehearses. */
export function passes(args: readonly string[]): boolean {
  if (args[0] === "help" || args.at(-1) === "help") return true;
  return args.some((arg) => {
    const equals = arg.indexOf("=");
    return PASSES.has(equals < 0 ? arg : arg.slice(0, equals)) &&
      !OFF.has(arg.slice(equals + 1));
  });
}
