import { rule } from "../rule.ts";
import { hasFlag, hasOption, isUnknown } from "../../programs/arguments.ts";
import type { Rule } from "../../model.ts";
import { GIT, inGit, verbOf } from "./call.ts";

/** History that git, and others like it, cannot bring back, and settings that run programs. */
export const HISTORY_RULES: readonly Rule[] = [
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
    safer: "Leave out --force: git then refuses to lose changes.",
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
    safer: "Leave out --force.",
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
    safer: "Use git rm --cached, or leave out -f.",
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
