import { once, type Rule, rule, type SimpleCommand } from "../rule.ts";
import { scanSql } from "../../code/sql.ts";
import { readSql } from "../../code/sql_writes.ts";
import { optionValues } from "../../programs/arguments.ts";
import { setOf } from "../production/cloud_words.ts";
import { readingsOf } from "../production/readings.ts";
import {
  ASKS,
  type Effect,
  effectOfOptions,
  effectOfParts,
  effectOfWords,
  firstPart,
  passes,
  wordsOfCall,
} from "./subcommands.ts";

/** The name under which the rules for programs stand that no table knows. */
export const ANY_UNKNOWN = "*unknown*";

/** Programs whose operands are texts, names of tests or of packages in the own folder or home. */
const OWN_WORK = setOf(
  "ack ag amixer apropos aria2p aspell audtool banner bower brightnessctl bspc buku cabal calcurse " +
    "cheat cmus-remote commitlint conan corepack cowsay ctest cypress dart del-cli dict " +
    "dunstctl espeak figlet file finger flutter fzf gammastep getent git-prune git-rm groups " +
    "hledger hunspell husky hyprctl i3-msg id idf.py info jest joplin jrnl jspm khal khard klog " +
    "lazygit ledger lefthook lein light look luarocks makoctl mc-view members mocha mocp mpc mpv " +
    "navi nb newsboat nimble nnn notify-send nvm opam pactl pamixer phpunit procs pinky pio platformio " +
    "playerctl playwright prettier pytest qmk raco ranger rebar3 redshift rspec say sdk shards " +
    "spago spd-say spotify_player stack swaymsg taskwarrior tig timetrap timew tldr todo todo.sh " +
    "todoman toilet transmission-remote trans trash trash-empty trash-restore vcpkg vitest volta watson west whatis " +
    "wmctrl wn wpctl xbacklight yazi z zk",
);

/** Programs with rules of their own, which do not name all of their subcommands. */
const PARTLY_KNOWN =
  "aiven akeyless appwrite aptly asadmin auth0 authelia automate-ctl avn b2 barman berglas " +
  "borg boundary brctl buildkite-agent calicoctl caprover ccloud ceph cephadm certmonger " +
  "chamber chef-server-ctl cilium circleci circusctl clever cloudsmith clusterctl cockroach " +
  "confluent conjur consul contentful convox couchbase-cli crsctl dagster databricks " +
  "deployctl dgmgrl discourse doveadm drone dsconf dsctl dsidm duplicacy ecctl edgedb " +
  "elastic emctl emqx_ctl etcdctl flink fwupdmgr gel gitea gitlab-ctl gluster gopass govc " +
  "grafana-cli hasura incus infisical influx influxd-ctl ipa ipa-replica-manage istioctl jf " +
  "kadmin kanidm kcadm.sh kong kopia koyeb launchdarkly ldcli limactl linkerd lxc " +
  "machinectl mc mcli meilitool mlflow mongocli mosquitto_ctrl multipass nats netbird " +
  "newrelic nodetool nomad northflank nsqadmin okta oneuser orchestrator " +
  "orchestrator-client ostree pagerduty patronictl pct pd pg_autoctl pgbackrest planetscale " +
  "ploi portal prefect prlctl proxysql-admin pscale pulsar-admin pveum qm rabbitmqadmin " +
  "rabbitmqctl rados radosgw-admin railway rancher rbd realm rec_control repmgr rethinkdb " +
  "rke rpk rpm-ostree rustic scalingo serf smtpctl spacectl splunk srvctl sssctl surreal " +
  "tailscale talosctl tarsnap tctl teamcity teleport temporal terminus tiup tsh turso " +
  "twilio twingate unbound-control upstash upsun usbguard varnishadm vaultcmd velero virsh " +
  "vmrun wal-g waypoint woodpecker-cli xe xl yb-admin zerotier-cli zmcontrol zmprov";

const CLUSTER_CLIENTS = setOf("kubectl oc k kubecolor");
/** Commands of the clients themselves; any other word is a plugin. */
const CLUSTER_VERBS = setOf(
  "adm alpha annotate api-resources api-versions apply attach auth autoscale cancel-build certificate cluster-info " +
    "completion config cordon cp create debug delete describe diff drain edit events exec explain expose extract get " +
    "help idle image import-image krew kustomize label login logout logs mirror new-app new-build new-project observe " +
    "options patch plugin policy port-forward process project projects proxy push registry replace rollback rollout " +
    "rsh rsync run scale secrets serviceaccounts set ssh start-build status tag taint top uncordon version wait whoami " +
    "ctx ns neat tree stern konfig",
);

/** `mygrep kill`: what such programs take are texts and names. */
const ASKS_BY_NAME =
  /(?:archive|cleanup|clear|dict|diff|find|fmt|format|grep|lint|play|prune|search|test|view)$/;

/** What an unknown program's subcommand does; empty for nothing that is known. */
function effectOf(command: SimpleCommand): Effect | "" {
  const { name, program, args } = command;
  if (OWN_WORK.has(name) || ASKS.has(firstPart(name)) || ASKS_BY_NAME.test(name)) return "";
  if (INTERPRETERS.has(name)) return effectOfScript(command);
  const isPlugin = CLUSTER_CLIENTS.has(name);
  const words = wordsOfCall(args);
  if (isPlugin && (words.length < 2 || CLUSTER_VERBS.has(words[0]!))) return "";
  const isOwn = program.includes("/") && !program.startsWith("/") && !program.startsWith("~");
  const isForAll = KEEPS.test(name) || args.some((arg) => FOR_ALL.has(arg));
  const spoken = effectOfWords(words, isForAll);
  const named = spoken ??
    (isPlugin || isOwn ? null : effectOfOptions(args) ?? effectOfName(name));
  // `dbtool exec -e 'DROP TABLE users'`: the text may do more than the words say.
  const effect = named || (isPlugin || isOwn ? null : effectOfTexts(command));
  if (effect === null || passes(args)) return "";
  return isOwn && (effect === "change" || FOR_TESTS.test(`${program} ${words.join(" ")}`))
    ? ""
    : effect;
}

/** `ledgerctl prune --all`: an option that names everything stands for a noun. */
const FOR_ALL = setOf("--all --force --recursive");

/** In the names of programs of which nothing is made again: `acme-backup prune`. */
const KEEPS = /backup|snap|vault/;

const INTERPRETERS = setOf("node perl php python python3 ruby");
/** Scripts with rules of their own. */
const KNOWN_SCRIPTS = setOf("artisan console django-admin manage.py setup.py");

/** `python3 tools/tenants.py delete 7`. */
function effectOfScript(command: SimpleCommand): Effect | "" {
  const [, script] = once(command, readingsOf);
  if (script === undefined || KNOWN_SCRIPTS.has(script.tool) || !SCRIPT.test(script.tool)) {
    return "";
  }
  const words = wordsOfCall(script.args);
  const effect = effectOfWords(words);
  const isOwnWork = effect === null || effect === "change" || passes(script.args) ||
    FOR_TESTS.test(command.args.slice(0, WORDS_MAX).join(" "));
  return isOwnWork ? "" : effect;
}

/** What a script of the own folder may destroy. */
const FOR_TESTS = /(?:^|[^a-z])(?:dev|e2e|local|sandbox|tests?)(?:$|[^a-z])/i;

/** Options whose value is a command of the program's own language, and those whose value is SQL. */
const COMMAND_OPTIONS = ["-c", "-e", "-x", "-E", "--command", "--eval", "--exec", "--execute"];
const SQL_OPTIONS = [...COMMAND_OPTIONS, "-s", "-q", "-Q", "--query", "--sql"];

/** `asadm -e 'manage truncate ns test'`, `cbq -s 'DELETE FROM shop'`, and SQL on standard input. */
function effectOfTexts(command: SimpleCommand): Effect | null {
  const told = command.stdin?.text?.trim() ?? "";
  if (SQL_CLIENT.test(command.name) && writesSql(told)) return "change";
  const texts = opensConsole(command) ? [told] : [];
  if (command.args.some((arg) => arg.includes(" "))) {
    if (optionValues(command, ...SQL_OPTIONS).some(writesSql)) return "change";
    texts.push(...optionValues(command, ...COMMAND_OPTIONS));
  }
  for (const text of texts) {
    for (const statement of text.split(/[;\n]/, STATEMENTS_MAX)) {
      const effect = effectOfWords(wordsOfCall(statement.trim().split(" ", WORDS_MAX)));
      if (effect !== null && effect !== "") return effect;
    }
  }
  return null;
}

/** `weed shell` reads commands of its own. */
const opensConsole = ({ name, args }: SimpleCommand): boolean =>
  /shell$/.test(name) || CONSOLES.has(args[0] ?? "");
const CONSOLES = setOf("cli console repl shell sql");

const SCRIPT = /\.(?:js|pl|py|rb|sh|ts)$/;
const SQL_CLIENT = /sql|db|query|bteq/;
const STATEMENTS_MAX = 16;
const WORDS_MAX = 6;
const writesSql = (text: string): boolean =>
  text.includes(" ") && (scanSql(text) !== "none" || readSql(text).writes);

/** `delete-tenant 7`: the program is named for what it does. */
function effectOfName(name: string): Effect | null {
  const bare = name.replace(SCRIPT, "");
  const effect = bare.includes("-") || bare.includes("_") ? effectOfParts(bare) : null;
  return effect === "change" ? null : effect;
}

const RULES_BY_EFFECT: readonly (
  & Pick<Parameters<typeof rule>[0], "id" | "title" | "weight" | "threat" | "explanation">
  & Pick<Parameters<typeof rule>[0], "hits" | "misses">
  & { readonly effect: Effect }
)[] = [
  {
    effect: "destroy",
    id: "services.unknown_destroy",
    title: "Destroy something with an unknown program",
    weight: [3, 4],
    threat: "resource_deletion",
    explanation: "By its subcommand, a program that the shield does not know deletes something.",
    hits: [
      "foozle cluster destroy x",
      "storectl vol:delete vol-1",
      "shopctl db.drop",
      "foozle --context prod removenode",
      "myctl --delete tenant-7",
      "./opsctl cluster destroy prod",
      "delete-tenant 7",
    ],
    misses: [
      "foozle cluster destroy x --dry-run",
      "foozle help cluster destroy",
      "foozle get deletions",
      "foozle search drop",
      "foozle cache purge",
      "./script.sh clean",
      "./dev.sh destroy",
    ],
  },
  {
    effect: "change",
    id: "production.unknown_change",
    title: "Change what runs with an unknown program",
    weight: [3, 3],
    threat: "production_change",
    explanation: "By its subcommand, a program that the shield does not know changes what runs.",
    hits: [
      "kubectl someplugin promote db-1",
      "ztctl --context prod service restart api",
      "opsctl nodes drain node-3",
      "foozle key rotate",
      "dcctl machine power-off m-12",
    ],
    misses: [
      "kubectl someplugin list",
      "kubectl tree deployment web",
      "ztctl service status api",
      "foozle start",
      "foozle update",
      "./script.sh restart",
      "ztctl rollback status",
    ],
  },
  {
    effect: "access",
    id: "credentials.unknown_access",
    title: "Give access with an unknown program",
    weight: [3, 3],
    threat: "privilege_escalation",
    explanation:
      "By its subcommand, a program that the shield does not know gives or changes somebody's access.",
    hits: [
      "foozle users set-password bob",
      "acme-admin user grant bob --role owner",
      "acme-admin token create --user bob",
      "foozle roles add-principals r1 bob",
    ],
    misses: [
      "foozle users get bob",
      "foozle add lodash",
      "foozle create project",
      "foozle config set color always",
    ],
  },
  {
    effect: "secret",
    id: "credentials.unknown_secret",
    title: "Show a secret with an unknown program",
    weight: [3, 3],
    threat: "credential_access",
    explanation: "By its subcommand, a program that the shield does not know shows a secret.",
    hits: [
      "acme-cli secrets reveal DB_PASSWORD",
      "acme-cli secret get db",
      "kubectl view-secret db",
      "acme-cli get password db",
    ],
    misses: ["acme-cli secrets list", "acme-cli get secrets", "acme-cli show users"],
  },
];

/** What a program does that no table knows, by the verb of its subcommand. It never denies. */
export const UNKNOWN_RULES: readonly Rule[] = RULES_BY_EFFECT.map(({ effect, ...fields }) =>
  rule({
    ...fields,
    commands: [ANY_UNKNOWN, ...CLUSTER_CLIENTS, ...INTERPRETERS, ...PARTLY_KNOWN.split(" ")],
    when: { ask: effectOf, answers: [effect] },
    match: () => true,
    safer: "Show first what it would act on, and rehearse it if the program can.",
  })
);
