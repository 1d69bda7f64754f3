import { hasFlag, isRehearsal, operands, optionValues } from "../../programs/arguments.ts";
import { WRITERS, writtenPaths } from "../../programs/effects.ts";
import { locate, normalizePath } from "../../programs/paths.ts";
import { outputsOf } from "../filesystem/outputs.ts";
import { once, type Rule, rule, type SimpleCommand } from "../rule.ts";

/** Folders from which programs and pages are served. */
const SERVED =
  /^\/(?:opt|srv|var\/www|usr\/local|usr\/share\/nginx|inetpub|var\/lib\/tomcat\d*|usr\/src\/app)\//i;
/** Folders and files in them that are written every day, and take nobody's place. */
export const DAILY =
  /\/(?:cache|tmp|temp|logs?|backups?|spool|sessions?)\/|\.(?:log|bak|orig|tmp|pid)\/?$/i;

/** Folders in which the system keeps settings and programs. */
export const EDITED = /^\/(?:etc|boot|usr|lib\w*|s?bin|root|var\/(?:lib|spool|www))\//;
const MOVERS = ["mv", "gmv", "move-item"];

/** A socket by which others reach a service. */
const SOCKET = /^\/(?:var\/)?run\/.*\.sock(?:et)?\/$/;

/** A path on another machine counts as one on this. */
export const placeOf = (command: SimpleCommand, path: string): string =>
  `${normalizePath(locate(command.cwd, path.replace(/^[\w.@-]{2,}:(?=\/)|^[A-Za-z]:/, "")))}/`;

export function isServed(command: SimpleCommand, path: string): boolean {
  return isServedPlace(placeOf(command, path));
}

/** Whether it is such a place; folders end with a slash. */
export const isServedPlace = (place: string): boolean => SERVED.test(place) && !DAILY.test(place);

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

/** What a client of files is told, in an option or on its input, command by command. */
function told(command: SimpleCommand): readonly string[][] {
  const texts = [command.stdin?.text ?? "", ...optionValues(command, "-c", "-e", "-Q")];
  return texts.flatMap((text) => text.split(/[;\n]/))
    .map((line) => line.trim().replace(/^[-@]/, "").split(/\s+/));
}

/** Verbs of these clients that delete, move or change files of the other machine. */
const REMOTE_VERBS = new Set(
  "rm rmdir mrm mdelete del delete deltree rename mv chmod chown chgrp ln symlink truncate".split(
    " ",
  ),
);

/** Whether files of another machine are deleted, moved or put where it serves or keeps settings. */
const changesRemote = (command: SimpleCommand): boolean =>
  told(command).some(([verb = "", ...words]) => {
    const paths = words.filter((word) => !word.startsWith("-"));
    switch (verb) {
      case "put":
      case "mput":
      case "reput":
        return paths.slice(1).some((path) => isServed(command, path) || EDITED.test(path));
      case "mirror":
        return words.some((word) => /^-[a-zA-Z]*R|^--reverse|^--Remove/.test(word));
      default:
        return REMOTE_VERBS.has(verb) && paths.length > 0;
    }
  });

/** What a machine serves. */
export const SERVED_CHANGES: readonly Rule[] = [
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
    id: "production.served_output",
    title: "Write output where programs and pages are served from",
    commands: null,
    match: (command) => outputsOf(command).some((path) => isServed(command, path)),
    weight: [3, 3],
    threat: "production_change",
    explanation: "An option makes it write where a running machine serves programs or pages from.",
    safer: "Write to a folder of your own, compare, and deploy through the pipeline.",
    hits: [
      "git archive -o /srv/www/src.zip HEAD",
      "hugo --destination /var/www/html",
      "helm template x ./chart --output-dir /srv/app/manifests",
      "docker save -o /opt/images/app.tar app:1",
    ],
    misses: [
      "git archive -o src.zip HEAD",
      "hugo --destination public",
      "pg_dump shop -f /srv/backups/shop.sql",
      "lighthouse https://example.com --output=html",
    ],
  }),
  rule({
    id: "filesystem.remove_served",
    title: "Delete or move away a file that a running machine serves",
    commands: [
      ...["rm", "grm", "srm", "unlink", "remove-item", "ri", "del", "erase"],
      ...MOVERS,
    ],
    match: (command, words) =>
      (MOVERS.includes(command.name) ? words.slice(0, -1) : words).some((path) =>
        isServed(command, path) || SOCKET.test(placeOf(command, path))
      ),
    weight: [2, 4],
    threat: "destructive_delete",
    explanation:
      "It takes a file away that a running machine serves, and of which it may have the only copy.",
    safer: "Move the file aside, and delete it when nothing misses it.",
    hits: [
      "rm -f /srv/db/app.sqlite",
      "mv /opt/app/app.jar /tmp/",
      "sudo rm /var/www/html/index.html",
      "cd /opt/app && rm app.jar",
      "php -r 'unlink(\"/srv/db/app.sqlite\");'",
      "unlink /var/run/docker.sock",
    ],
    misses: [
      "rm -f /srv/app/tmp/upload.part",
      "rm /srv/app/app.jar.bak",
      "rm -f /srv/app/logs/build.log",
      "rm notes.txt",
      "mv app.jar /tmp/",
    ],
  }),
  rule({
    id: "production.remote_files",
    title: "Delete or replace files of another machine",
    commands: ["sftp", "ftp", "lftp", "ncftp", "smbclient", "psftp"],
    match: changesRemote,
    weight: [3, 3],
    threat: "production_change",
    explanation: "It deletes, moves or replaces files of another machine.",
    safer: "List the files there first, and keep a copy of what is replaced.",
    hits: [
      "printf 'rm /srv/www/index.html\\n' | sftp -b - web01",
      "sftp web01 <<< 'put index.html /srv/www/index.html'",
      "lftp -e 'mirror -R --delete dist /www; quit' ftp.example.com",
      "smbclient //fs1/team -c 'cd old; rm *.xlsx'",
    ],
    misses: [
      "sftp web01 <<< 'ls /srv/www'",
      "sftp web01 <<< 'put report.pdf'",
      "lftp -e 'mirror /www copy; quit' ftp.example.com",
      "smbclient //fs1/team -c 'get plan.xlsx'",
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
];
