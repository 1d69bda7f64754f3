import {
  hasFlag,
  hasOption,
  isRehearsal,
  operands,
  optionValues,
} from "../../programs/arguments.ts";
import { LISTED, type Rule, rule, type SimpleCommand } from "../rule.ts";
import { DAILY, EDITED, isServed, placeOf } from "./served.ts";

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

const CHANGES_ACL =
  /^\/(?:grant|deny|remove|setowner|reset|inheritance|setintegritylevel|restore|substitute|[epgdr]$)/i;
/** The folder of what a wildcard or a search finds right below it. */
const folderOfAll = (path: string): string =>
  path.endsWith("/*") || path.endsWith(`/${LISTED}`) ? path.slice(0, path.lastIndexOf("/")) : path;
/** Modes by which everybody may write. */
const OPEN_MODE = /^0*[1-7]?[0-7][0-7][2367]$|^(?:[ugo]*[ao][ugo]*)?\+[rxX]*w/;

/** Whether rights change on what the machine, its services or other people keep. */
function changesRights(command: SimpleCommand): boolean {
  if (command.name === "setfacl" && hasOption(command, "--restore")) return true;
  if (command.name.endsWith("cacls")) {
    return command.args.some((arg) => CHANGES_ACL.test(arg)) &&
      operands(command).some((path) => /^[A-Za-z]:/.test(path));
  }
  if (command.name === "set-acl") return operands(command).some((path) => /^[A-Za-z]:/.test(path));
  const isDeep = hasFlag(command, "R", "recursive") && !hasOption(command, "--test") ||
    command.wrappers.includes("find") || OPEN_MODE.test(operands(command)[0] ?? "");
  const shared = command.name === "setfacl" ? SHARED : SHARED_ROOT;
  const references = optionValues(command, "--reference");
  return operands(command).some((path) => {
    if (!/^[/~.]/.test(path) && command.cwd === "." || references.includes(path)) return false;
    const place = placeOf(command, folderOfAll(path));
    return OWNED.test(place) || SOCKET.test(place) || DEVICE.test(place) ||
      OTHERS_HOME.test(place) ||
      isDeep && shared.test(place);
  });
}

/** Files that a machine lives by, and their rights. */
export const PLACE_CHANGES: readonly Rule[] = [
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
    commands: [
      "chmod",
      "chown",
      "chgrp",
      "chattr",
      "setfacl",
      "chflags",
      "set-acl",
      "chcon",
      "icacls",
      "cacls",
    ],
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
      "icacls C:\\inetpub /grant 'Users:(OI)(CI)F' /T",
      "Set-Acl D:\\share $acl",
      "find /srv/www -type d -exec chmod 777 {} +",
      "chmod 777 /srv/www",
    ],
    misses: [
      "chmod +x script.sh",
      "icacls C:\\inetpub",
      "chmod 600 ~/.ssh/id_ed25519",
      "chown -R app:app /srv/app/releases/42",
      "chmod --reference=/etc/hosts notes.txt",
      "setfacl -m u:anna:r report.pdf",
    ],
  }),
];
