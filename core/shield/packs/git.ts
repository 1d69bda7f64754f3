import { hasFlag, hasOption, isRehearsal, isUnknown, optionValues } from "../programs/arguments.ts";
import {
  type Blast,
  type Irreversibility,
  newCommand,
  once,
  type Rule,
  type SimpleCommand,
} from "../model.ts";
import { defineRule, phraseRule } from "./define.ts";

const GLOBAL_VALUED = new Set([
  "-C",
  "-c",
  "--git-dir",
  "--work-tree",
  "--namespace",
  "--exec-path",
  "--config-env",
  "--super-prefix",
]);

/** Where the subcommand stands, whatever options stand before it. */
function verbPlace({ args }: SimpleCommand): number {
  let i = 0;
  while (i < args.length && args[i]!.startsWith("-")) i += GLOBAL_VALUED.has(args[i]!) ? 2 : 1;
  return i;
}

const verbOf = (command: SimpleCommand): string =>
  (command.args[once(command, verbPlace)] ?? "").toLowerCase();

/** Git's subcommand with its own arguments. */
function gitCall(command: SimpleCommand): { call: SimpleCommand; rest: string[] } {
  const args = command.args.slice(once(command, verbPlace) + 1);
  return {
    call: newCommand({ ...command, args }),
    rest: args.filter((arg) => !arg.startsWith("-")),
  };
}

type GitMatch = (call: SimpleCommand, rest: readonly string[]) => boolean;

function git(
  id: string,
  verbs: readonly string[],
  match: GitMatch,
  weight: readonly [Blast, Irreversibility],
  explanation: string,
  safer: string,
): Rule {
  return {
    id: `git.${id}`,
    pack: "git",
    commands: ["git", "hub"],
    when: { ask: verbOf, answers: verbs },
    match: (command) => {
      const { call, rest } = once(command, gitCall);
      return match(call, rest) && !isRehearsal(call);
    },
    blast: weight[0],
    irreversibility: weight[1],
    threat: "history_loss",
    explanation,
    safer_alternative: safer,
  };
}

/** Branches that others have; the lease of `--force-with-lease` guards what is one's own. */
const SHARED_BRANCHES = new Set([
  "main",
  "master",
  "trunk",
  "develop",
  "production",
  "prod",
  "release",
  "stable",
]);
const STASH = "Run git stash first: it keeps the changes.";

/** Work and history that git, and others like it, cannot bring back. */
export const GIT_RULES: readonly Rule[] = [
  git(
    "reset_hard",
    ["reset"],
    (call) => hasOption(call, "--hard", "--merge") || abbreviates(call, "--hard", 5),
    [2, 5],
    "It throws away every change that is not committed.",
    STASH,
  ),
  git(
    "clean",
    ["clean"],
    (call) => hasFlag(call, "f", "force") && !isRehearsal(call) && !cleansNothing(call),
    [2, 5],
    "It deletes files that git does not know, so git cannot bring them back.",
    "Run git clean -n first, or git stash --include-untracked.",
  ),
  git(
    "force_push",
    ["push"],
    forcesPush,
    [4, 4],
    "It replaces the remote's history; others' commits may be lost.",
    "Use git push --force-with-lease, or push to a new branch.",
  ),
  git(
    "force_push_lease",
    ["push"],
    (call, rest) =>
      call.args.some((arg) => arg.startsWith("--force-with-lease")) && !forcesPush(call, []) &&
      rest.slice(1).some((ref) => SHARED_BRANCHES.has(ref.slice(ref.indexOf(":") + 1))),
    [2, 4],
    "It rewrites a branch that others work on.",
    "Push to a new branch.",
  ),
  git(
    "push_delete",
    ["push"],
    (call, rest) =>
      hasFlag(call, "d", "delete", "prune", "mirror") ||
      rest.slice(1).some((ref) => ref.startsWith(":") && ref.length > 1),
    [3, 4],
    "It deletes branches or tags at the remote.",
    "Keep the branch, or note its commit first.",
  ),
  git(
    "delete_branch",
    ["branch"],
    (call) =>
      hasFlag(call, "D") || (hasFlag(call, "d", "delete") && hasFlag(call, "f", "force")) ||
      (hasFlag(call, "fM", "force") && !hasFlag(call, "d")),
    [2, 4],
    "It deletes or moves a branch even if its commits are nowhere else.",
    "Use git branch -d, which refuses to lose commits.",
  ),
  git(
    "stash_drop",
    ["stash"],
    (_call, rest) => rest[0] === "drop" || rest[0] === "clear",
    [2, 5],
    "It deletes stashed work.",
    "Use git stash branch, which keeps it.",
  ),
  git(
    "discard_changes",
    ["checkout"],
    discardsByCheckout,
    [2, 5],
    "It overwrites files that have changes that are not committed.",
    STASH,
  ),
  git(
    "switch_discard",
    ["switch"],
    (call) => hasFlag(call, "f", "force", "discard-changes"),
    [2, 5],
    "It throws away every change that is not committed.",
    STASH,
  ),
  git(
    "restore",
    ["restore"],
    (call) => !hasFlag(call, "S", "staged") || hasFlag(call, "W", "worktree"),
    [2, 5],
    "It overwrites files that have changes that are not committed.",
    STASH,
  ),
  git(
    "rewrite_history",
    ["filter-branch", "filter-repo", "replace"],
    () => true,
    [4, 4],
    "It rewrites every commit of the history.",
    "Work on a fresh clone.",
  ),
  git(
    "expire",
    ["reflog"],
    (_call, rest) => rest[0] === "expire" || rest[0] === "delete",
    [2, 5],
    "It deletes the log from which lost commits could be found again.",
    "Leave the reflog; it expires by itself.",
  ),
  git(
    "prune",
    ["gc", "prune"],
    (call, rest) =>
      call.args.some((arg) => arg.startsWith("--prune=") && arg !== "--prune=never") ||
      (rest.length === 0 && call.args.some((arg) => arg.startsWith("--expire"))),
    [2, 5],
    "It deletes commits that no branch holds.",
    "Run git gc without --prune.",
  ),
  git(
    "delete_ref",
    ["update-ref"],
    (call) => hasFlag(call, "d", "stdin"),
    [2, 4],
    "It deletes or moves a reference by hand.",
    "Use git branch or git tag.",
  ),
  git(
    "delete_tag",
    ["tag"],
    (call) => hasFlag(call, "d", "delete", "force") || hasFlag(call, "f"),
    [2, 4],
    "It deletes or moves a tag that others may rely on.",
    "Make a new tag.",
  ),
  git(
    "worktree",
    ["worktree"],
    (call, rest) => rest[0] === "remove" && hasFlag(call, "f", "force"),
    [2, 5],
    "It deletes a work tree with changes that are not committed.",
    "Leave --force away: git then refuses to lose changes.",
  ),
  git(
    "submodule",
    ["submodule"],
    (call, rest) => rest[0] === "deinit" && hasFlag(call, "f", "force"),
    [2, 4],
    "It deletes a submodule's work tree with its changes.",
    "Leave --force away.",
  ),
  git(
    "remove_files",
    ["rm"],
    (call) => hasFlag(call, "f", "force") && !hasOption(call, "--cached"),
    [2, 4],
    "It deletes files even if they have changes that are not committed.",
    "Use git rm --cached, or leave -f away.",
  ),
  git(
    "remove_remote",
    ["remote"],
    (_call, rest) => rest[0] === "set-url" && rest.slice(1).some(isUnknown),
    [2, 4],
    "It points a remote at an address that cannot be seen.",
    "Write the address out.",
  ),
  defineRule(
    "git",
    "other_history",
    ["svn", "hg", "p4", "bzr", "jj", "fossil"],
    (command, words) => {
      const verb = words[0] ?? "";
      switch (command.name) {
        case "svn":
          return ["delete", "del", "remove", "rm"].includes(verb) &&
            words.slice(1).some((word) => word.includes("://"));
        case "hg":
          return ["strip", "purge", "histedit", "rollback"].includes(verb) ||
            (verb === "revert" && hasFlag(command, "a", "all")) ||
            (["update", "up", "checkout", "co"].includes(verb) && hasFlag(command, "C", "clean"));
        case "p4":
          return verb === "obliterate" || (verb === "revert" && words.length > 1);
        default:
          return ["uncommit", "abandon", "scrub"].includes(verb);
      }
    },
    [3, 4],
    "history_loss",
    "It deletes history, or changes that are not committed.",
    "Keep a copy of the working folder and of the repository.",
  ),
  phraseRule(
    "git",
    "run_setting",
    [
      "git config …core.hookspath…|…core.sshcommand…|…core.fsmonitor…|…credential.helper… …",
      "git config …insteadof…|…sslverify…|…filter.… …",
    ],
    [3, 3],
    "persistence",
    "It makes git run a program, or trust another server, from now on.",
    "Set it for one call with git -c, where everybody can see it.",
  ),
  phraseRule(
    "git",
    "rebase_root",
    ["git rebase --root"],
    [2, 4],
    "history_loss",
    "It rewrites every commit of the branch.",
    "Work on a new branch.",
  ),
  defineRule(
    "git",
    "api_delete",
    ["gh", "glab"],
    ({ args: [what, verb = "", ...rest] }) =>
      (what === "repo" && ["edit", "rename"].includes(verb) &&
        rest.some((arg) => arg.startsWith("--visibility"))) ||
      (what === "auth" && verb === "token"),
    [3, 3],
    "exposure",
    "It exposes a repository or a token.",
    "Let the program that needs the token ask for it.",
  ),
];

function abbreviates(call: SimpleCommand, option: string, least: number): boolean {
  return call.args.some((arg) => arg.length >= least && option.startsWith(arg));
}

/** `git clean -n`; what stands behind `-e` is a pattern. */
const cleansNothing = (call: SimpleCommand): boolean =>
  hasFlag(call, "n") && !optionValues(call, "-e", "--exclude").includes("-n");

function forcesPush(call: SimpleCommand, _rest: readonly string[]): boolean {
  if (hasOption(call, "--force") || hasOption(call, "--mirror")) return true;
  if (call.args.some((arg) => arg.startsWith("-") && !arg.startsWith("--") && arg.includes("f"))) {
    return true;
  }
  return call.args.some((arg) => arg.startsWith("+") && arg.length > 1) ||
    optionValues(call, "--receive-pack").length > 0;
}

function discardsByCheckout(call: SimpleCommand, rest: readonly string[]): boolean {
  if (hasFlag(call, "bB", "orphan", "track", "detach") && !hasFlag(call, "f", "force")) {
    return false;
  }
  if (hasFlag(call, "f", "force")) return true;
  const dashes = call.args.indexOf("--");
  if (dashes >= 0 && dashes < call.args.length - 1) return true;
  return rest.some((path) =>
    path === "." || path === ":/" || path === "*" || path.startsWith("./")
  );
}
