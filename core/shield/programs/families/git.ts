import type { SimpleCommand } from "../../model.ts";
import { operands, optionValues } from "../arguments.ts";
import type { Family } from "../family.ts";
import { afterFirst } from "../texts.ts";

/** Git runs what an alias with `!`, a pager, an editor or a hook setting says. */
function gitCommands(command: SimpleCommand): string[] {
  const texts: string[] = [];
  for (
    const setting of [...optionValues(command, "-c", "--config"), ...assignedSettings(command)]
  ) {
    const [key = "", value = ""] = [setting.split("=", 1)[0], afterFirst(setting, "=")];
    const name = key.toLowerCase();
    if (name.startsWith("alias.")) {
      texts.push(value.startsWith("!") ? value.slice(1) : `git ${value}`);
    } else if (isProgramSetting(name)) {
      texts.push(value.startsWith("!") ? value.slice(1) : value);
    }
  }
  for (const [name, text] of keptSettings(command)) {
    if (name.startsWith("alias.") ? text.startsWith("!") : isProgramSetting(name)) {
      texts.push(text.startsWith("!") ? text.slice(1) : text);
    }
  }
  texts.push(
    ...optionValues(
      command,
      "--exec",
      "--tree-filter",
      "--index-filter",
      "--msg-filter",
      "--upload-pack",
      "--receive-pack",
      "--open-files-in-pager",
      "--extcmd",
      "--sendmail-cmd",
    ),
    ...command.args.flatMap((arg) =>
      arg.startsWith("ext::") ? [arg.slice(5).replaceAll("% ", " ")] : []
    ),
  );
  if (command.args.includes("clone")) texts.push(...optionValues(command, "-u"));
  if (command.args.includes("grep")) {
    texts.push(...command.args.flatMap((arg) => arg.startsWith("-O") ? [arg.slice(2)] : []));
  }
  if (command.args.includes("rebase") || command.args.includes("difftool")) {
    texts.push(...optionValues(command, "-x"));
  }
  return texts;
}

/** `GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0=text git log` sets as `-c` does. */
function assignedSettings({ assignments }: SimpleCommand): string[] {
  return [...assignments].flatMap(([name, key]) =>
    name.startsWith(GIT_KEY)
      ? [`${key}=${assignments.get(`GIT_CONFIG_VALUE_${name.slice(GIT_KEY.length)}`) ?? ""}`]
      : []
  );
}

const GIT_KEY = "GIT_CONFIG_KEY_";

/** Settings that `git config name value` stores: each two words that may be the name and the value. */
function keptSettings({ args }: SimpleCommand): (readonly [string, string])[] {
  const config = args.indexOf("config");
  if (config < 0) return [];
  const words = args.slice(config + 1).filter((arg) => !arg.startsWith("-"));
  return words.slice(1).map((value, at) => [words[at]!.toLowerCase(), value]);
}

const isProgramSetting = (name: string): boolean => GIT_PROGRAMS.some((end) => name.endsWith(end));

const GIT_PROGRAMS = [
  "pager",
  "editor",
  "sshcommand",
  "fsmonitor",
  "askpass",
  ".textconv",
  "credential.helper",
  ".cmd",
  "external",
  "gitproxy",
  "gpg.program",
  "difffilter",
  "packobjectshook",
  ".clean",
  ".smudge",
  ".process",
  ".driver",
];

/** Folders outside of any repository: `git grep --no-index text folder`. */
function searchedOutside(command: SimpleCommand): readonly string[] {
  if (!command.args.includes("--no-index")) return [];
  const [verb, ...words] = operands(command, GIT_VALUED);
  if (verb === "diff") return words;
  const folders = words.slice(1);
  return folders.length === 0 ? ["."] : folders;
}

const GIT_VALUED = new Set(["-C", "-c"]);

/** `hg --config hooks.pre-status=text`, and aliases that begin with `!`. */
const mercurialCommands = (command: SimpleCommand): string[] =>
  optionValues(command, "--config").flatMap((setting) => {
    const value = afterFirst(setting, "=");
    if (setting.startsWith("alias.")) return value.startsWith("!") ? [value.slice(1)] : [];
    return /^(?:hooks|merge-tools|ui\.(?:editor|ssh|merge))/.test(setting) ? [value] : [];
  });

/** Git, which runs programs by its settings. */
export const GIT: readonly Family[] = [{ names: ["repo"], runs: ["-c", "--command"] }, {
  names: ["git"],
  runs: gitCommands,
  readsBelow: searchedOutside,
  wrappers: [
    { verbs: "bisect run", short: "C" },
    { verbs: "submodule foreach", short: "C", mode: "shell" },
  ],
}, {
  names: ["hg"],
  runs: mercurialCommands,
}];
