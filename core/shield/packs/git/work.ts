import { type Rule, rule, type SimpleCommand } from "../rule.ts";
import { hasFlag, hasOption, isRehearsal, optionValues } from "../../programs/arguments.ts";
import { GIT, inGit, verbOf } from "./call.ts";

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

/** Uncommitted work, and the branches of a remote. */
export const WORK_RULES: readonly Rule[] = [
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
    match: inGit((call) => hasFlag(call, "f", "force") && !isRehearsal(call)),
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
    match: inGit((call, rest) =>
      hasFlag(call, "D") || (hasFlag(call, "d", "delete") && hasFlag(call, "f", "force")) ||
      (hasFlag(call, "fM", "force") && !hasFlag(call, "d") && !renamesFirst(call, rest))
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
];

/** `git branch -M main` names the first branch of a new repository. */
const renamesFirst = ({ args }: SimpleCommand, rest: readonly string[]): boolean =>
  args.includes("-M") && rest.length === 1 && (rest[0] === "main" || rest[0] === "master");

function abbreviates(call: SimpleCommand, option: string, least: number): boolean {
  return call.args.some((arg) => arg.length >= least && option.startsWith(arg));
}

function forcesPush(call: SimpleCommand, _rest: readonly string[]): boolean {
  if (hasOption(call, "--force") || hasOption(call, "--mirror")) return true;
  if (call.args.some((arg) => arg.startsWith("-") && !arg.startsWith("--") && arg.includes("f"))) {
    return true;
  }
  return call.args.some((arg) => arg.startsWith("+") && arg.length > 1) ||
    optionValues(call, "--receive-pack").length > 0;
}

/** A folder, or a file with a suffix: `src/`, `app.ts`, but not `v1.2`. */
const PATH = /\/$|\w\.[a-z][a-z]{1,4}$|\*\./i;

function discardsByCheckout(call: SimpleCommand, rest: readonly string[]): boolean {
  if (hasFlag(call, "bB", "orphan", "track", "detach") && !hasFlag(call, "f", "force")) {
    return false;
  }
  if (hasFlag(call, "f", "force")) return true;
  if (hasFlag(call, "p", "patch", "ours", "theirs")) return false;
  // A commit and a path, or a name that is a path.
  if (rest.length > 1 || rest.some((path) => PATH.test(path))) return true;
  const dashes = call.args.indexOf("--");
  if (dashes >= 0 && dashes < call.args.length - 1) return true;
  return rest.some((path) =>
    path === "." || path === ":/" || path === "*" || path.startsWith("./")
  );
}
