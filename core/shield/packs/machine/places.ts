import {
  hasFlag,
  hasOption,
  isRehearsal,
  operands,
  optionValues,
} from "../../programs/arguments.ts";
import { WRITERS, writtenPaths } from "../../programs/effects.ts";
import { locate, normalizePath } from "../../programs/paths.ts";
import { once, type Rule, rule, type SimpleCommand } from "../rule.ts";

/** Folders from which programs and pages are served. */
const SERVED =
  /^\/(?:opt|srv|var\/www|usr\/local|usr\/share\/nginx|inetpub|var\/lib\/tomcat\d*|usr\/src\/app)\//i;
/** Folders and files in them that are written every day, and take nobody's place. */
const DAILY =
  /\/(?:cache|tmp|temp|logs?|backups?|spool|sessions?)\/|\.(?:log|bak|orig|tmp|pid)\/?$/i;

/** A path on another machine counts as one on this. */
const placeOf = (command: SimpleCommand, path: string): string =>
  `${normalizePath(locate(command.cwd, path.replace(/^[\w.@-]{2,}:(?=\/)|^[A-Za-z]:/, "")))}/`;

function isServed(command: SimpleCommand, path: string): boolean {
  const place = placeOf(command, path);
  return SERVED.test(place) && !DAILY.test(place);
}

/** Of `-n` and `--no-n`, the last counts. */
function syncsNothing(command: SimpleCommand): boolean {
  const { args } = command;
  let isDry = args.includes("--list-only") || operands(command).length < 2;
  for (const arg of args) {
    if (arg === "--no-n" || arg === "--no-dry-run") isDry = false;
    else if (arg === "--dry-run" || /^-[a-zA-Z]*n[a-zA-Z]*$/.test(arg)) isDry = true;
  }
  return isDry;
}

/** `cp x.jar x.jar.old`: a copy beside the file. */
function keepsCopy(command: SimpleCommand): boolean {
  const [from = "", to = "", ...more] = operands(command);
  return command.name === "cp" && more.length === 0 && to.length > from.length &&
    to.startsWith(from) && !to.slice(from.length).includes("/");
}

function writesServed(command: SimpleCommand): boolean {
  const isDry = command.name === "rsync" ? syncsNothing(command) : isRehearsal(command);
  if (isDry || keepsCopy(command)) return false;
  if (command.name === "stow" && hasFlag(command, "n", "no", "simulate")) return false;
  return command.redirections.some(({ operator, target }) =>
    operator.includes(">") && operator !== ">&" && isServed(command, target)
  ) || once(command, writtenPaths).some((path) => isServed(command, path)) ||
    unpacks(command) &&
      optionValues(command, ...TARGETS.get(command.name) ?? []).some((path) =>
        isServed(command, path)
      );
}

/** Whether an archiver takes files out, and does not put them in. */
function unpacks({ name, args }: SimpleCommand): boolean {
  if (name === "unzip") return !args.some((arg) => /^-[a-zA-Z]*[lptvzZ]/.test(arg));
  return !name.endsWith("tar") || /^-?[a-zA-Z]*x/.test(args[0] ?? "") ||
    args.some((arg) => arg === "--extract" || arg === "--get" || /^-[a-zA-Z]*x/.test(arg));
}

/** Options that name the folder to write to. */
const TARGETS: ReadonlyMap<string, readonly string[]> = new Map([
  ["cp", ["-t", "--target-directory"]],
  ["mv", ["-t", "--target-directory"]],
  ["install", ["-t", "--target-directory"]],
  ["ln", ["-t", "--target-directory"]],
  ["stow", ["-t", "--target"]],
  ["tar", ["-C", "--directory"]],
  ["bsdtar", ["-C", "--directory"]],
  ["gtar", ["-C", "--directory"]],
  ["unzip", ["-d"]],
]);

const COPIERS = ["xcopy", "robocopy", "copy", "copy-item", "move-item", "expand-archive", "stow"];

/** Subcommands by which a work tree takes another state. */
const UPDATES = new Set(
  "pull checkout switch reset merge rebase restore revert cherry-pick am apply update up clone sw"
    .split(" "),
);
const TREE_VALUED = new Set([
  "-C",
  "-c",
  "-R",
  "--git-dir",
  "--work-tree",
  "--cwd",
  "--repository",
]);

function updatesServed(command: SimpleCommand): boolean {
  const [verb = "", ...words] = operands(command, TREE_VALUED);
  if (!UPDATES.has(verb) || isRehearsal(command) || hasFlag(command, "h")) return false;
  if (verb === "checkout" && hasFlag(command, "b")) return false;
  const trees = verb === "clone"
    ? words.slice(1)
    : optionValues(command, "-C", "-R", "--work-tree", "--git-dir", "--repository");
  return (trees.length > 0 ? trees : verb === "clone" ? [] : ["."]).some((path) =>
    isServed(command, path)
  );
}

/** Files that a program edits where they are; null for programs that only read. */
function editedIn(command: SimpleCommand): readonly string[] {
  const { name, args } = command;
  const words = operands(command);
  switch (name) {
    case "sed":
    case "gsed":
    case "perl":
    case "ruby": {
      if (!args.some((arg) => /^-[a-zA-Z0-9]*i|^--in-place/.test(arg))) return [];
      const hasScript = args.some((arg) => /^-[a-zA-Z0-9]*[ef]$|^--(?:expression|file)/.test(arg));
      return hasScript ? words : words.slice(1);
    }
    case "awk":
    case "gawk":
      return optionValues(command, "-i").includes("inplace") ? words.slice(1) : [];
    case "yq":
      return hasFlag(command, "i", "inplace") ? words : [];
    case "crudini":
      return hasOption(command, "--set", "--del", "--merge") ? words : [];
    case "augtool":
      return args.some((arg) => /^(?:set|rm|ins|mv|setm|clear|clearm|save)\b/.test(arg)) ||
          hasFlag(command, "s", "autosave")
        ? ["/etc/x"]
        : [];
    case "rename":
    case "prename":
      return hasFlag(command, "n", "no-act", "nono") ? [] : words.slice(1);
    case "git":
      return words[0] === "apply" && !hasFlag(command, "", "check", "stat", "numstat", "summary")
        ? [...optionValues(command, "--directory"), command.cwd]
        : [];
    case "patch":
      return [...words.slice(0, 1), ...optionValues(command, "-d", "--directory"), command.cwd];
    case "vi":
    case "vim":
    case "nvim":
    case "gvim":
    case "ex":
    case "emacs":
    case "nano":
    case "pico":
    case "micro":
      return hasFlag(command, "RMv", "readonly", "view") ? [] : [...words, ...savedAs(args)];
    default:
      return words;
  }
}

/** `:w! path` among the commands of an editor. */
const savedAs = (args: readonly string[]): string[] =>
  args.flatMap((arg) =>
    /(?:^|[:|\s])(?:w|wq|x|sav\w*|up\w*)!?\s+(?:>>\s*)?(\/\S+)/.exec(arg)?.[1] ?? []
  );

const EDITED = /^\/(?:etc|boot|usr|lib\w*|s?bin|root|var\/(?:lib|spool|www))\//;

function editsSystem(command: SimpleCommand): boolean {
  if (isRehearsal(command)) return false;
  return editedIn(command).some((path) => {
    const place = placeOf(command, path);
    return EDITED.test(place) && !DAILY.test(place) || isServed(command, path);
  });
}

const OWNED = /^\/(?:etc|boot|usr|lib\w*|s?bin|root|var\/(?:lib|spool|log|audit|backups))\//;
/** Folders of many people. */
const SHARED = /^\/(?:srv|opt|data|mnt|media|export|shared?|home)\//;
/** A folder that stands right below one of these. */
const SHARED_ROOT = /^\/(?:srv|opt|data|mnt|export)\/(?:[^/]+\/)?$/;
const SOCKET = /^\/(?:var\/)?run\/|\.sock(?:et)?\/$/;
const DEVICE = /^\/dev\/(?!null|zero|full|u?random|std|fd\/|shm\/|pts\/|tty\/|ttyUSB|ttyACM)/;
const OTHERS_HOME = /^\/(?:home|Users)\/[^/]+\/(?:\.ssh\/.*|\.gnupg\/.*)?$|^~\w+\//;

/** Whether rights change on what the machine, its services or other people keep. */
function changesRights(command: SimpleCommand): boolean {
  if (command.name === "setfacl" && hasOption(command, "--restore")) return true;
  const isDeep = hasFlag(command, "R", "recursive") && !hasOption(command, "--test");
  const shared = command.name === "setfacl" ? SHARED : SHARED_ROOT;
  const references = optionValues(command, "--reference");
  return operands(command).some((path) => {
    if (!/^[/~.]/.test(path) && command.cwd === "." || references.includes(path)) return false;
    const place = placeOf(command, path);
    return OWNED.test(place) || SOCKET.test(place) || DEVICE.test(place) ||
      OTHERS_HOME.test(place) ||
      isDeep && shared.test(place);
  });
}

/** What a machine serves and lives by: its files and their rights. */
export const PLACE_CHANGES: readonly Rule[] = [
  rule({
    id: "production.served_files",
    title: "Write where programs and pages are served from",
    commands: [...WRITERS, ...COPIERS, ...TARGETS.keys()],
    also: ["redirected"],
    match: (command) =>
      writesServed(command) ||
      COPIERS.includes(command.name) &&
        operands(command).slice(-1).some((path) => isServed(command, path)),
    evenRehearsed: true,
    weight: [3, 3],
    threat: "production_change",
    explanation: "It puts files where a running machine serves programs or pages from.",
    safer: "Compare first (rsync -n, diff -r), and deploy through the pipeline.",
    hits: [
      "mv dist/* /srv/www/ --force",
      "rsync -a --chown=root:root build/ /opt/app/",
      "rsync -a -n --no-n --delete build/ web01:/srv/www/",
      "cp -r dist/* /var/www/html/",
      "cp --target-directory=/usr/local/sbin agent",
      "cd /opt/app && cp ~/app.jar .",
      "ln -sfn /srv/app/releases/42 /srv/app/current",
      "echo x > /srv/www/index.html",
    ],
    misses: [
      "rsync -an build/ /srv/www/",
      "rsync -a --no-dry-run --delete -n build/ web01:/srv/www/",
      "rsync -a web01:/srv/www/ ./copy/",
      "cp /srv/www/index.html .",
      "cp /srv/app/app.jar /srv/app/app.jar.old",
      "make > /srv/app/logs/build.txt",
    ],
  }),
  rule({
    id: "production.served_tree",
    title: "Give a served work tree another state",
    commands: ["git", "hg", "svn"],
    match: updatesServed,
    evenRehearsed: true,
    weight: [3, 3],
    threat: "production_change",
    explanation: "It changes the files that a running machine serves, by a version control system.",
    safer: "Look at the difference first: git fetch, git diff HEAD @{u}.",
    hits: ["git -C /srv/app pull", "cd /var/www/html && git checkout v2", "hg -R /srv/app pull -u"],
    misses: ["git -C /srv/app status", "cd /srv/app && git log", "git pull"],
  }),
  rule({
    id: "production.edit_system",
    title: "Edit a file of the system where it is",
    commands: [
      ...[
        "sed",
        "gsed",
        "perl",
        "ruby",
        "awk",
        "gawk",
        "yq",
        "crudini",
        "augtool",
        "rename",
        "prename",
      ],
      ...[
        "git",
        "patch",
        "vi",
        "vim",
        "nvim",
        "gvim",
        "ex",
        "ed",
        "emacs",
        "nano",
        "pico",
        "micro",
      ],
      ...["dos2unix", "unix2dos", "sponge", "recode", "touch"],
    ],
    match: editsSystem,
    evenRehearsed: true,
    weight: [3, 3],
    threat: "production_change",
    explanation:
      "It changes a file that the system or a service reads, without a copy or a review.",
    safer: "Write to a copy, compare, and put it in place through configuration.",
    hits: [
      "sed -i 's/8080/9090/' /etc/nginx/nginx.conf",
      "perl -i.bak -ne 'print unless /audit/' /etc/rsyslog.conf",
      "ed -s /etc/hosts <<< $'1d\\nw\\nq'",
      "ex -sc '1d|x' /etc/hosts",
      "vim -es -c 'wq! /etc/cron.d/x' job.txt",
      "find /etc/nginx -name '*.conf' -exec sed -i 's/8080/9090/g' /etc/nginx/{} +",
      "gawk -i inplace '{print}' /etc/hosts",
      "cd /etc && patch -p1 < x.patch",
    ],
    misses: [
      "sed 's/a/b/' /etc/hosts",
      "sed -n 1,20p /etc/hosts",
      "perl -ne 'print if /x/' /etc/hosts",
      "vim -R /etc/hosts",
      "sed -i 's/a/b/' config.yml",
      "ed -s notes.txt <<< $'1d\\nw\\nq'",
    ],
  }),
  rule({
    id: "production.rights",
    title: "Change rights on files of the system or of others",
    commands: ["chmod", "chown", "chgrp", "chattr", "setfacl", "chflags", "set-acl", "chcon"],
    match: changesRights,
    weight: [3, 3],
    threat: "permission_change",
    explanation:
      "It changes who may read, change or run a file of the system or of another person.",
    safer: "Look at the present rights first: stat, getfacl, lsattr.",
    hits: [
      "sudo chmod -x /usr/bin/apt-get",
      "chmod --reference=/tmp/open /etc/sudoers",
      "chmod a+rw /var/run/docker.sock",
      "chown anna /run/containerd/containerd.sock",
      "chmod 640 /etc/nginx/nginx.conf",
      "chmod o+rx /home/bob",
      "chattr +i /etc/resolv.conf",
      "chmod 666 /dev/kvm",
      "setfacl -Rb /srv/share",
    ],
    misses: [
      "chmod +x script.sh",
      "chmod 600 ~/.ssh/id_ed25519",
      "chown -R app:app /srv/app/releases/42",
      "chmod --reference=/etc/hosts notes.txt",
      "setfacl -m u:anna:r report.pdf",
    ],
  }),
];
