import { rule } from "./rule.ts";
import { hasFlag, hasOption, isRehearsal, isUnknown, optionValues } from "../programs/arguments.ts";
import {
  type Blast,
  type Irreversibility,
  newCommand,
  once,
  type Rule,
  type SimpleCommand,
} from "../model.ts";

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

const GIT = ["git", "hub"];

/** Asks about the subcommand's own arguments; those alone tell whether it is a rehearsal. */
const inGit = (match: GitMatch) => (command: SimpleCommand): boolean => {
  const { call, rest } = once(command, gitCall);
  return match(call, rest) && !isRehearsal(call);
};

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
  rule({
    id: "git.reset_hard",
    title: "Throw away uncommitted changes with reset",
    commands: GIT,
    when: { ask: verbOf, answers: ["reset"] },
    match: inGit((call) => hasOption(call, "--hard", "--merge") || abbreviates(call, "--hard", 5)),
    evenRehearsed: true,
    weight: [2, 5],
    threat: "history_loss",
    explanation: "It throws away every change that is not committed.",
    safer: STASH,
    hits: ["git reset --hard", "git reset --hard HEAD~3"],
    misses: ["git reset --soft HEAD~1", "git reset README.md"],
  }),
  rule({
    id: "git.clean",
    title: "Delete untracked files",
    commands: GIT,
    when: { ask: verbOf, answers: ["clean"] },
    match: inGit((call) =>
      hasFlag(call, "f", "force") && !isRehearsal(call) && !cleansNothing(call)
    ),
    evenRehearsed: true,
    weight: [2, 5],
    threat: "history_loss",
    explanation: "It deletes files that git does not know, so git cannot bring them back.",
    safer: "Run git clean -n first, or git stash --include-untracked.",
    hits: ["git clean -xfd", "sudo git clean -fd"],
    misses: ["git clean -n", "git status --short"],
  }),
  rule({
    id: "git.force_push",
    title: "Replace the history of a remote",
    commands: GIT,
    when: { ask: verbOf, answers: ["push"] },
    match: inGit(forcesPush),
    evenRehearsed: true,
    weight: [4, 4],
    threat: "history_loss",
    explanation: "It replaces the remote's history; others' commits may be lost.",
    safer: "Use git push --force-with-lease, or push to a new branch.",
    hits: ["git push -f", "git push origin +main"],
    misses: ["git push origin main", "git push --tags"],
  }),
  rule({
    id: "git.force_push_lease",
    title: "Rewrite a shared branch with a lease",
    commands: GIT,
    when: { ask: verbOf, answers: ["push"] },
    match: inGit((call, rest) =>
      call.args.some((arg) => arg.startsWith("--force-with-lease")) && !forcesPush(call, []) &&
      rest.slice(1).some((ref) => SHARED_BRANCHES.has(ref.slice(ref.indexOf(":") + 1)))
    ),
    evenRehearsed: true,
    weight: [2, 4],
    threat: "history_loss",
    explanation: "It rewrites a branch that others work on.",
    safer: "Push to a new branch.",
    hits: ["git push --force-with-lease origin main", "git push --force-with-lease origin release"],
    misses: ["git push --force-with-lease origin fix-typo", "git push -u origin main"],
  }),
  rule({
    id: "git.push_delete",
    title: "Delete remote branches or tags",
    commands: GIT,
    when: { ask: verbOf, answers: ["push"] },
    match: inGit((call, rest) =>
      hasFlag(call, "d", "delete", "prune", "mirror") ||
      rest.slice(1).some((ref) => ref.startsWith(":") && ref.length > 1)
    ),
    evenRehearsed: true,
    weight: [3, 4],
    threat: "history_loss",
    explanation: "It deletes branches or tags at the remote.",
    safer: "Keep the branch, or note its commit first.",
    hits: ["git push origin :main", "git push origin --delete release"],
    misses: ["git push origin main", "git fetch --prune"],
  }),
  rule({
    id: "git.delete_branch",
    title: "Delete an unmerged branch",
    commands: GIT,
    when: { ask: verbOf, answers: ["branch"] },
    match: inGit((call) =>
      hasFlag(call, "D") || (hasFlag(call, "d", "delete") && hasFlag(call, "f", "force")) ||
      (hasFlag(call, "fM", "force") && !hasFlag(call, "d"))
    ),
    evenRehearsed: true,
    weight: [2, 4],
    threat: "history_loss",
    explanation: "It deletes or moves a branch even if its commits are nowhere else.",
    safer: "Use git branch -d, which refuses to lose commits.",
    hits: ["git branch -D main", "git branch -D feature/payments"],
    misses: ["git branch -d feature/payments", "git branch --list"],
  }),
  rule({
    id: "git.stash_drop",
    title: "Delete stashed work",
    commands: GIT,
    when: { ask: verbOf, answers: ["stash"] },
    match: inGit((_call, rest) => rest[0] === "drop" || rest[0] === "clear"),
    evenRehearsed: true,
    weight: [2, 5],
    threat: "history_loss",
    explanation: "It deletes stashed work.",
    safer: "Use git stash branch, which keeps it.",
    hits: ["git stash clear", "git stash drop stash@{0}"],
    misses: ["git stash list", "git stash pop"],
  }),
  rule({
    id: "git.discard_changes",
    title: "Throw away changes with checkout",
    commands: GIT,
    when: { ask: verbOf, answers: ["checkout"] },
    match: inGit(discardsByCheckout),
    evenRehearsed: true,
    weight: [2, 5],
    threat: "history_loss",
    explanation: "It overwrites files that have changes that are not committed.",
    safer: STASH,
    hits: ["git checkout -- .", "git checkout -f main"],
    misses: ["git checkout main", "git checkout -b fix-typo"],
  }),
  rule({
    id: "git.switch_discard",
    title: "Throw away changes with switch",
    commands: GIT,
    when: { ask: verbOf, answers: ["switch"] },
    match: inGit((call) => hasFlag(call, "f", "force", "discard-changes")),
    evenRehearsed: true,
    weight: [2, 5],
    threat: "history_loss",
    explanation: "It throws away every change that is not committed.",
    safer: STASH,
    hits: ["git switch --discard-changes main", "git switch -f main"],
    misses: ["git switch main", "git switch -c fix-typo"],
  }),
  rule({
    id: "git.restore",
    title: "Throw away changes with restore",
    commands: GIT,
    when: { ask: verbOf, answers: ["restore"] },
    match: inGit((call) => !hasFlag(call, "S", "staged") || hasFlag(call, "W", "worktree")),
    evenRehearsed: true,
    weight: [2, 5],
    threat: "history_loss",
    explanation: "It overwrites files that have changes that are not committed.",
    safer: STASH,
    hits: ["git restore .", "git restore --worktree ."],
    misses: ["git restore --staged README.md", "git diff --stat"],
  }),
  rule({
    id: "git.rewrite_history",
    title: "Rewrite every commit",
    commands: GIT,
    when: { ask: verbOf, answers: ["filter-branch", "filter-repo", "replace"] },
    match: inGit(() => true),
    evenRehearsed: true,
    weight: [4, 4],
    threat: "history_loss",
    explanation: "It rewrites every commit of the history.",
    safer: "Work on a fresh clone.",
    hits: [
      "git filter-branch --force --index-filter 'git rm --cached -r .' -- --all",
      "git filter-repo --path secrets --invert-paths",
    ],
    misses: ["git log --oneline", "git rebase -i HEAD~3"],
  }),
  rule({
    id: "git.expire",
    title: "Expire the reflog",
    commands: GIT,
    when: { ask: verbOf, answers: ["reflog"] },
    match: inGit((_call, rest) => rest[0] === "expire" || rest[0] === "delete"),
    evenRehearsed: true,
    weight: [2, 5],
    threat: "history_loss",
    explanation: "It deletes the log from which lost commits could be found again.",
    safer: "Leave the reflog; it expires by itself.",
    hits: [
      "git reflog expire --expire=now --all",
      "git reflog expire --all --expire-unreachable=now",
    ],
    misses: ["git reflog", "git reflog show main"],
  }),
  rule({
    id: "git.prune",
    title: "Delete unreachable commits",
    commands: GIT,
    when: { ask: verbOf, answers: ["gc", "prune"] },
    match: inGit((call, rest) =>
      call.args.some((arg) => arg.startsWith("--prune=") && arg !== "--prune=never") ||
      (rest.length === 0 && call.args.some((arg) => arg.startsWith("--expire")))
    ),
    evenRehearsed: true,
    weight: [2, 5],
    threat: "history_loss",
    explanation: "It deletes commits that no branch holds.",
    safer: "Run git gc without --prune.",
    hits: ["git gc --prune=now", "git prune --expire=now"],
    misses: ["git gc", "git gc --auto"],
  }),
  rule({
    id: "git.delete_ref",
    title: "Delete or move a reference",
    commands: GIT,
    when: { ask: verbOf, answers: ["update-ref"] },
    match: inGit((call) => hasFlag(call, "d", "stdin")),
    evenRehearsed: true,
    weight: [2, 4],
    threat: "history_loss",
    explanation: "It deletes or moves a reference by hand.",
    safer: "Use git branch or git tag.",
    hits: ["git update-ref -d refs/heads/main", "git update-ref --stdin"],
    misses: ["git show-ref", "git rev-parse HEAD"],
  }),
  rule({
    id: "git.delete_tag",
    title: "Delete or move a tag",
    commands: GIT,
    when: { ask: verbOf, answers: ["tag"] },
    match: inGit((call) => hasFlag(call, "d", "delete", "force") || hasFlag(call, "f")),
    evenRehearsed: true,
    weight: [2, 4],
    threat: "history_loss",
    explanation: "It deletes or moves a tag that others may rely on.",
    safer: "Make a new tag.",
    hits: ["git tag -d v1.0", "git tag -f v1.0"],
    misses: ["git tag v1.1", "git tag --list"],
  }),
  rule({
    id: "git.worktree",
    title: "Delete a changed work tree",
    commands: GIT,
    when: { ask: verbOf, answers: ["worktree"] },
    match: inGit((call, rest) => rest[0] === "remove" && hasFlag(call, "f", "force")),
    evenRehearsed: true,
    weight: [2, 5],
    threat: "history_loss",
    explanation: "It deletes a work tree with changes that are not committed.",
    safer: "Leave --force away: git then refuses to lose changes.",
    hits: ["git worktree remove --force ../wt", "git worktree remove -f ../wt"],
    misses: ["git worktree list", "git worktree remove ../wt"],
  }),
  rule({
    id: "git.submodule",
    title: "Delete a changed submodule",
    commands: GIT,
    when: { ask: verbOf, answers: ["submodule"] },
    match: inGit((call, rest) => rest[0] === "deinit" && hasFlag(call, "f", "force")),
    evenRehearsed: true,
    weight: [2, 4],
    threat: "history_loss",
    explanation: "It deletes a submodule's work tree with its changes.",
    safer: "Leave --force away.",
    hits: ["git submodule deinit --all -f", "git submodule deinit -f vendor/lib"],
    misses: ["git submodule update --init", "git submodule status"],
  }),
  rule({
    id: "git.remove_files",
    title: "Delete changed files",
    commands: GIT,
    when: { ask: verbOf, answers: ["rm"] },
    match: inGit((call) => hasFlag(call, "f", "force") && !hasOption(call, "--cached")),
    evenRehearsed: true,
    weight: [2, 4],
    threat: "history_loss",
    explanation: "It deletes files even if they have changes that are not committed.",
    safer: "Use git rm --cached, or leave -f away.",
    hits: ["git rm -rf .", "git rm -f notes.md"],
    misses: ["git rm --cached .env.example", "git rm notes.md"],
  }),
  rule({
    id: "git.remove_remote",
    title: "Point a remote at a computed address",
    commands: GIT,
    when: { ask: verbOf, answers: ["remote"] },
    match: inGit((_call, rest) => rest[0] === "set-url" && rest.slice(1).some(isUnknown)),
    evenRehearsed: true,
    weight: [2, 4],
    threat: "history_loss",
    explanation: "It points a remote at an address that cannot be seen.",
    safer: "Write the address out.",
    hits: ['git remote set-url origin "$URL"', "git remote set-url origin $(cat url.txt)"],
    misses: ["git remote -v", "git remote add upstream https://git.example/app.git"],
  }),
  rule({
    id: "git.other_history",
    title: "Delete history of another version control",
    commands: ["svn", "hg", "p4", "bzr", "jj", "fossil"],
    match: (command, words) => {
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
    weight: [3, 4],
    threat: "history_loss",
    explanation: "It deletes history, or changes that are not committed.",
    safer: "Keep a copy of the working folder and of the repository.",
    hits: ["hg strip --force tip", "svn delete http://svn/repo/trunk -m x"],
    misses: ["hg log -l 5", "svn status"],
  }),
  rule({
    id: "git.run_setting",
    title: "Make git run a program from now on",
    phrases: [
      "git config …core.hookspath…|…core.sshcommand…|…core.fsmonitor…|…credential.helper… …",
      "git config …insteadof…|…sslverify…|…filter.… …",
    ],
    weight: [3, 3],
    threat: "persistence",
    explanation: "It makes git run a program, or trust another server, from now on.",
    safer: "Set it for one call with git -c, where everybody can see it.",
    hits: [
      "git config --global core.hooksPath /tmp/hooks",
      "git config set core.sshCommand 'sh /tmp/x'",
    ],
    misses: ["git config user.name anna", "git config --get core.hooksPath"],
  }),
  rule({
    id: "git.rebase_root",
    title: "Rewrite a whole branch",
    phrases: ["git rebase --root"],
    weight: [2, 4],
    threat: "history_loss",
    explanation: "It rewrites every commit of the branch.",
    safer: "Work on a new branch.",
    hits: ["git rebase -i --root", "git rebase --root --onto base"],
    misses: ["git rebase -i HEAD~3", "git rebase main"],
  }),
  rule({
    id: "git.api_delete",
    title: "Expose a repository or a token",
    commands: ["gh", "glab"],
    match: ({ args: [what, verb = "", ...rest] }) =>
      (what === "repo" && ["edit", "rename"].includes(verb) &&
        rest.some((arg) => arg.startsWith("--visibility"))) ||
      (what === "auth" && verb === "token"),
    weight: [3, 3],
    threat: "exposure",
    explanation: "It exposes a repository or a token.",
    safer: "Let the program that needs the token ask for it.",
    hits: ["gh repo edit --visibility public", "gh auth token"],
    misses: ["gh pr merge 42 --squash", "glab mr list"],
  }),
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
