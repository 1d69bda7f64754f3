import type { SimpleCommand } from "../model.ts";

/**
 * Programs with options that only show what a call would do, and the verbs that have these options, where not all do.
 * A program that is not here has no such option: the word is an operand, or the call fails, or does the work.
 */
const REHEARSING: readonly (readonly [names: string, options: string, verbs?: string])[] = [
  [
    "kubectl oc k k3s microk8s kubecolor",
    "--dry-run",
    "annotate apply autoscale cordon uncordon drain taint create delete expose label patch replace run scale set undo " +
    "reconcile new-app new-build new-project policy rollback idle import-image import prune link unlink",
  ],
  ["kubeadm eksctl istioctl", "--dry-run"],
  ["argocd", "--dry-run", "sync import"],
  ["argo", "--dry-run", "delete stop terminate submit"],
  ["helm helm3", "--dry-run", "install upgrade rollback uninstall delete del un template"],
  ["minikube", "--dry-run", "start"],
  ["werf", "--dry-run", "cleanup purge host"],
  [
    "git hub",
    "-n --dry-run",
    "add clean fetch mv prune pull push rm worktree remote notes lfs send-email repack",
  ],
  ["git hub", "--dry-run", "commit"],
  ["git-commit", "--dry-run"],
  [
    "git-add git-clean git-fetch git-mv git-prune git-pull git-push git-rm git-worktree git-remote git-notes git-lfs",
    "-n --dry-run",
  ],
  ["rsync", "-n --dry-run --list-only"],
  ["rclone restic rustic borg borgmatic duplicity rdiff-backup", "-n --dry-run"],
  ["robocopy", "/l"],
  ["patch", "--dry-run --check -C"],
  ["make gmake", "-n --just-print --dry-run --recon -q --question"],
  ["ninja just task act tup", "-n --dry-run --dryrun --dry"],
  ["gradle gradlew", "-m --dry-run"],
  ["apt apt-get aptitude nala apt-fast", "-s --simulate --just-print --dry-run --recon --no-act"],
  ["dpkg", "--dry-run --no-act --simulate"],
  ["zypper", "-D --dry-run"],
  ["rpm dnf dnf5 yum microdnf tdnf", "--test --assumeno"],
  ["pacman yay paru", "-p --print"],
  ["apk", "-s --simulate"],
  ["brew", "-n --dry-run", "autoremove cleanup install upgrade bundle"],
  ["nix nix-env nix-store nix-collect-garbage guix", "--dry-run"],
  [
    "npm pnpm yarn bun jsr deno",
    "--dry-run",
    "publish unpublish install i ci add uninstall remove rm un update up dedupe prune rebuild link audit pack deprecate outdated",
  ],
  ["pip pip3 uv poetry pdm hatch", "--dry-run", "install add remove sync publish lock pip tool"],
  ["cargo", "-n --dry-run", "publish clean add remove update install fix"],
  ["composer", "--dry-run", "install update remove require reinstall bump"],
  ["semantic-release standard-version release-it", "-d --dry-run --dryRun"],
  ["wrangler firebase", "--dry-run", "deploy publish"],
  ["aws", "--dry-run", "ec2"],
  ["aws", "--dryrun", "s3"],
  ["az", "--dryrun --what-if", "storage deployment"],
  ["azcopy", "--dry-run"],
  ["gsutil", "-n", "rsync"],
  ["gcloud", "--dry-run", "rsync transfer storage"],
  ["s3cmd s5cmd", "-n --dry-run"],
  ["mc", "--dry-run", "rm mirror"],
  ["bq", "--dry_run", "query"],
  ["docker", "--dry-run", "compose"],
  ["docker-compose", "--dry-run"],
  ["podman", "--dry-run", "auto-update"],
  ["skopeo", "--dry-run", "sync"],
  ["regctl regsync", "--dry-run", "once"],
  ["logrotate", "-d --debug"],
  ["certbot", "--dry-run"],
  ["puppet", "--noop"],
  ["chef-client chef-solo", "-W --why-run"],
  ["ansible ansible-playbook", "-C --check"],
  ["stow", "-n --no --simulate"],
  ["wipefs", "-n --no-act"],
  ["sfdisk", "-n --no-act"],
  ["sgdisk", "-P --pretend"],
  ["fsck", "-N"],
  ["mkfs.xfs xfs_repair", "-N -n"],
  ["mkfs.ext2 mkfs.ext3 mkfs.ext4 mke2fs e2fsck", "-n"],
  ["zfs", "-n --dryrun", "destroy receive recv send rollback"],
  ["zpool", "-n", "create add split import attach"],
  ["vgremove lvremove pvremove vgreduce lvreduce lvresize lvextend lvcreate vgcreate", "-t --test"],
  ["vgextend pvcreate lvchange vgchange pvresize pvmove", "-t --test"],
  ["pg_rewind pgbackrest pg_archivecleanup", "-n --dry-run"],
  ["pg_repack", "-N --dry-run"],
  ["mongorestore", "--dryRun"],
  ["pt-online-schema-change pt-archiver pt-kill pt-table-sync", "--dry-run --print"],
  ["bundle gem", "--dry-run --dryrun", "clean cleanup"],
  ["tmpreaper tmpwatch", "-t --test"],
  ["systemd-tmpfiles ufw", "--dry-run"],
  ["ipa-server-upgrade authselect freeipa", "--test"],
  ["alembic", "--sql", "downgrade upgrade"],
  ["rake rails", "-n -P -T -D --dry-run --prereqs --tasks"],
  ["dotnet dotnet-ef", "--dry-run"],
  ["flux", "--dry-run", "build uninstall"],
  ["pulumi", "--preview-only"],
  ["mount", "-f --fake"],
  ["terraform tofu terragrunt", "-dry-run --dry-run", "rm mv replace-provider"],
  ["vault bao", "-output-policy -output-curl-string --output-policy --output-curl-string"],
  ["oci", "--generate-full-command-json-input --generate-param-json-input"],
  [
    "oci",
    "--dry-run",
    "bulk-delete bulk-upload bulk-download sync delete-object-versions bulk-delete-versions",
  ],
  ["aws", "--generate-cli-skeleton"],
  ["aws", "--no-execute-changeset", "deploy"],
  ["shutdown", "--show"],
  ["pg_resetwal", "-n --dry-run"],
  ["invoke-rc.d", "--query"],
  [
    "systemctl",
    "--dry-run --when=show",
    "halt poweroff reboot kexec soft-reboot suspend hibernate hybrid-sleep suspend-then-hibernate default rescue emergency exit",
  ],
  ["hg", "-n -p --dry-run --print", "revert purge clean import addremove"],
  ["iptables-restore ip6tables-restore", "-t --test"],
  ["nft", "-c --check"],
  ["modprobe depmod", "-n --dry-run --show --show-depends -D"],
  ["rename prename file-rename", "-n --nono --no-act"],
  ["detox rdfind", "-n --dry-run"],
  ["unison rpmbuild", "--dry-run --nobuild"],
  ["salt salt-call", "test=true"],
  ["fwupdmgr flatpak snap", "--no-deploy --dry-run"],
];

/** Programs whose long options may be cut short: `--dry` is `--dry-run`. */
const CUTS = new Set("git hub patch make gmake rsync wipefs sfdisk".split(" "));

/** Letters whose value may follow in the same word: the `n` of `rsync -essn` names a program. */
const VALUED_LETTERS: ReadonlyMap<string, string> = new Map([
  ["rsync", "efTBM"],
  ["make", "CfIoWjlE"],
  ["git-clean", "e"],
  ["git-push", "o"],
  ["apt-get", "oct"],
  ["apt", "oct"],
]);

interface Rehearsing {
  readonly options: ReadonlySet<string>;
  readonly letters: string;
  readonly verbs: ReadonlySet<string> | null;
}

const byName = new Map<string, Rehearsing[]>();
for (const [names, options, verbs] of REHEARSING) {
  const words = options.split(" ");
  const entry: Rehearsing = {
    options: new Set(words.filter((word) => word.length > 2 || !word.startsWith("-"))),
    letters: words.flatMap((word) => word.length === 2 ? [word[1]] : []).join(""),
    verbs: verbs === undefined ? null : new Set(verbs.split(" ")),
  };
  for (const name of names.split(" ")) byName.getOrInsertComputed(name, () => []).push(entry);
}

/** Whether a command only asks for help or a version, or its program says that it only shows what it would do. */
export function rehearses(command: SimpleCommand): boolean {
  const { args, name } = command;
  if (HELPFUL.has(name) && asksForHelpByWord(command)) return true;
  let hasOptions = false;
  for (const arg of args) {
    const first = arg.charCodeAt(0);
    if (first === DASH || first === SLASH || arg === "test=true" || arg === "test=True") {
      hasOptions = true;
      break;
    }
  }
  if (!hasOptions) return false;
  if (asksForHelp(args)) return true;
  if (SHORT_HELP.get(name)?.some((word) => isHelp(args, word))) return true;
  if (RUNS_SCRIPT.has(name) && SCRIPT.test(args[0] ?? "") && isHelp(args, "-h")) return true;
  if (name.startsWith("apt") && args.some((arg) => APT_SIMULATES.test(arg))) {
    return configures(args, APT_SIMULATES);
  }
  if (RPM_CLIENTS.has(name) && configures(args, DNF_TESTS)) return true;
  const entries = byName.get(name);
  if (entries === undefined) {
    return name.includes("-") && CMDLET_VERB.has(name.slice(0, name.indexOf("-"))) &&
      args.some((arg) => WHAT_IF.has(arg.toLowerCase()));
  }
  return entries.some((entry) => simulates(command, entry));
}

const DASH = 0x2d;
const SLASH = 0x2f;

/** Every cmdlet that changes something has `-WhatIf`. */
const WHAT_IF = new Set(["-whatif", "-wi", "-whatif:true"]);
const CMDLET_VERB = new Set(
  ("add clear copy disable dismount enable export format import initialize install invoke move new optimize " +
    "publish register remove rename repair reset resize restart restore resume revoke save send set start stop " +
    "suspend uninstall unregister update write").split(" "),
);

/** Tools with verbs, of which `help` is one. */
const HELPFUL = new Set(
  ("aws git docker podman kubectl oc helm flyway gh glab npm pnpm yarn cargo go terraform tofu heroku fly flyctl " +
    "vault consul nomad packer gcloud az doctl pulumi hg svn systemctl ufw vagrant argocd flux rails mix dotnet " +
    "bundle gem brew snap flatpak php python python3 ruby artisan console manage.py django-admin redis-cli valkey-cli " +
    "keydb-cli supabase nerdctl linkerd istioctl eksctl kops minikube kind skaffold tkn argo velero cf ibmcloud aliyun " +
    "civo hcloud exo railway turso pscale goreleaser buf hugo atlas dbmate prisma composer deno bun uv poetry rustup " +
    "dnf yum zypper launchctl certbot caddy boundary waypoint bao opentofu etcdctl rclone restic borg symfony wp drush " +
    "zpool networkctl resolvectl rabbitmqctl nodetool asadmin supervisorctl rbd ceph crm pcs")
    .split(" "),
);

/** `git help clean`, `aws rds delete-db-instance help`. */
function asksForHelpByWord({ args, name }: SimpleCommand): boolean {
  if (name === "aws") return args.at(-1) === "help";
  return args[RUNS_SCRIPT.has(name) && SCRIPT.test(args[0] ?? "") ? 1 : 0] === "help";
}

/** Programs whose first word is a script with verbs of its own: `python manage.py help flush`. */
const RUNS_SCRIPT = new Set("php python python3 ruby".split(" "));
const SCRIPT = /(?:^|\/)(?:manage\.py|artisan|console)$/;

/** `--help` and `--version`; after `--` such a word is a file's name. */
function asksForHelp(args: readonly string[]): boolean {
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    if (arg === "--") return false;
    if (arg === "--help" && !isValue(args, at)) return true;
    // Elsewhere it may name the version that a call is about.
    if (
      arg === "--version" && !isValue(args, at) && (at === 0 || at === args.length - 1) &&
      !/^v?\d/.test(args[at + 1] ?? "")
    ) return true;
  }
  return false;
}

const NPM_REGISTRY = new Set("access dist-tag dist-tags owner team org token tag".split(" "));

/** Whether the last such setting (`-o APT::Get::Simulate=true`) switches the rehearsal on. */
function configures(args: readonly string[], setting: RegExp): boolean {
  const values = args.flatMap((arg) => setting.exec(arg)?.[1] ?? []);
  return ON.test(values.at(-1) ?? "");
}

const APT_SIMULATES =
  /^(?:-o=?|--option=)?APT::Get::(?:Simulate|Just-Print|Dry-Run|Recon|No-Act)=(.*)$/i;
const RPM_CLIENTS = new Set("dnf dnf5 yum tdnf microdnf".split(" "));
const DNF_TESTS = /^(?:--setopt=)?tsflags=(.*)$/;
const ON = /^(?:true|yes|on|1|enable|with|(?:\w+,)*test(?:,\w+)*)$/i;

/** Tools that take these words for a call for help, wherever one stands before `--`. */
const SHORT_HELP: ReadonlyMap<string, readonly string[]> = new Map([
  ...readHelp("terraform tofu vault bao consul nomad packer boundary waypoint", ["-h", "-help"]),
  ...readHelp(
    "kubectl oc helm gh glab fly flyctl argocd argo flux tkn istioctl linkerd eksctl kops velero minikube kind " +
      "systemctl oci az gcloud doctl hcloud supabase pulumi skopeo buildah skaffold cosign restic rclone cargo rustup " +
      "ansible ansible-playbook certbot goreleaser atlas dbmate turso alembic prisma sqlx diesel artisan console symfony " +
      "manage.py django-admin drush",
    ["-h"],
  ),
  ...readHelp(
    "dropdb createdb dropuser pg_ctl pg_resetwal pg_restore pg_dump psql vacuumdb flyway",
    ["-?"],
  ),
  ...readHelp("mysql mysqladmin mysqldump mariadb mariadb-admin mysqlcheck", ["-?"]),
]);

function readHelp(names: string, words: readonly string[]) {
  return names.split(" ").map((name) => [name, words] as const);
}

/** The word stands alone; behind another option it may be that option's value. */
function isHelp(args: readonly string[], word: string): boolean {
  const end = args.indexOf("--");
  const at = args.indexOf(word);
  return at >= 0 && (end < 0 || at < end) &&
    (at === 0 || !args[at - 1]!.startsWith("-") || args[at - 1]!.includes("="));
}

function simulates({ args, name }: SimpleCommand, { options, letters, verbs }: Rehearsing) {
  if (verbs !== null && !args.some((arg) => verbs.has(arg.toLowerCase()))) return false;
  // `npm dist-tag add` is no `npm add`.
  if (name.endsWith("npm") && NPM_REGISTRY.has(args[0] ?? "")) return false;
  const valued = VALUED_LETTERS.get(name) ?? "";
  let isOn = false;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    if (arg === "--") break;
    if (isValue(args, at) && !UNVALUED.get(name)?.includes(args[at - 1]!)) continue;
    // The last of contradicting options counts.
    if (takesBack(arg)) isOn = false;
    else isOn ||= isSimulating(arg, { options, letters }, name, valued);
  }
  return isOn;
}

function isSimulating(
  arg: string,
  { options, letters }: Pick<Rehearsing, "options" | "letters">,
  name: string,
  valued: string,
): boolean {
  if (arg.charCodeAt(0) !== DASH) return options.has(arg.toLowerCase());
  if (arg.charCodeAt(1) !== DASH) {
    return options.has(arg) || letters !== "" && hasLetter(arg, letters, valued);
  }
  const equals = arg.indexOf("=");
  const option = equals < 0 ? arg : arg.slice(0, equals);
  return options.has(option) || options.has(arg) || cutsShort(option, name, options);
}

/** Shorter starts are ambiguous. */
const MIN_START = "--dr".length;

const cutsShort = (option: string, name: string, options: ReadonlySet<string>): boolean =>
  option.length >= MIN_START && (CUTS.has(name) || name.startsWith("git-")) &&
  options.values().some((one) => one.startsWith(option));

/** Whether the letter stands in a bundle, before any letter that takes the rest as its value. */
function hasLetter(arg: string, letters: string, valued: string): boolean {
  for (const letter of arg.slice(1)) {
    if (letters.includes(letter)) return true;
    if (valued.includes(letter)) return false;
  }
  return false;
}

/** `--no-dry-run`, `--no-n`, `-s=no` and `--dry-run=false` take an option back. */
function takesBack(arg: string): boolean {
  if (!arg.startsWith("--")) return arg[2] === "=" && NO.has(arg.slice(3).toLowerCase());
  if (TAKEN_BACK.has(arg.toLowerCase())) return true;
  const equals = arg.indexOf("=");
  return equals > 0 && NO.has(arg.slice(equals + 1).toLowerCase()) &&
    SIMULATING.has(arg.slice(2, equals).toLowerCase());
}

const SIMULATING = new Set([
  "dry-run",
  "dryrun",
  "dry_run",
  "dry",
  "simulate",
  "check",
  "test",
  "noop",
  "n",
  "what-if",
  "just-print",
  "recon",
  "no-act",
  "why-run",
  "list-only",
  "debug",
]);
const TAKEN_BACK = new Set([
  ...SIMULATING.values().map((word) => `--no-${word}`),
  "--assumeyes",
]);
/** Values that switch an option off; a word that is not known may be one. */
const NO = new Set(["false", "none", "no", "off", "0", "f", "n", "never", "\0", ""]);

/** Programs for which one of these options takes no value. */
const UNVALUED: ReadonlyMap<string, string> = new Map([
  ["git-clean", "-f"],
  ["git-push", "-f"],
  ["git-add", "-f"],
  ["git-rm", "-f"],
  ["rpm", "-e"],
]);

/** Whether the word is the value of the option before it, even if it looks like an option. */
const isValue = (args: readonly string[], at: number): boolean =>
  TAKES_WORD.has(args[at - 1] ?? "");

/** Options that take the next word as their value, even one that looks like an option. */
const TAKES_WORD = new Set([
  "-e",
  "-f",
  "-m",
  "--description",
  "--exclude",
  "--exclude-from",
  "--filter",
  "--include",
  "--include-from",
  "--message",
  "--rsh",
]);
