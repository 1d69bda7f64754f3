import { runCommand } from "./command.ts";
import { UsageError } from "./arguments.ts";
import { EVERYWHERE } from "./remote/command.ts";
import { REMOTE_COMMANDS } from "./remote/table.ts";

const HELP = `relay completion: print a script that completes commands and options

Usage:
  relay completion bash|zsh|fish
  relay completion agents                     the names that the script asks for

Examples:
  source <(relay completion bash)
  relay completion fish >~/.config/fish/completions/relay.fish

Exit codes:
  0  the script was printed
  2  wrong arguments
`;

const SHELLS: Readonly<Record<string, (first: readonly string[]) => string>> = {
  bash: bashScript,
  zsh: (first) =>
    `autoload -Uz compinit bashcompinit\ncompinit\nbashcompinit\n${bashScript(first)}`,
  fish: fishScript,
};

/** `relay completion`; `first` are the first words of all commands. */
export function completionCommand(args: string[], first: readonly string[]): Promise<number> {
  return runCommand({
    name: "completion",
    help: HELP,
    positional: 1,
    async run(_options, shell = "") {
      if (shell === "agents") return await printAgentNames();
      if (!Object.hasOwn(SHELLS, shell)) throw new UsageError("Name a shell: bash, zsh or fish.");
      console.log(SHELLS[shell]!(first));
    },
  }, args);
}

/** Silent without an answer: a shell that completes has no place for errors. */
async function printAgentNames(): Promise<void> {
  const { machine } = await import("./remote/host.ts");
  const { agentNames } = await import("./remote/names.ts");
  const names = await agentNames(machine);
  if (names.length > 0) console.log(names.join("\n"));
}

/** What a script runs to get the names of agents. */
const NAMES = "relay completion agents 2>/dev/null";

/** The commands whose first argument is an agent, by their words. */
const ofAgents = (): string[][] =>
  REMOTE_COMMANDS.filter(({ takes }) => /^agent\??$/.test(takes[0] ?? "")).map(({ name }) =>
    name.split(" ")
  );

/** The second words of each group. */
const groups = (): [group: string, words: string[]][] => {
  const pairs = REMOTE_COMMANDS.map(({ name }) => name.split(" ")).filter(([, word]) => word);
  const byGroup = Map.groupBy(pairs, ([group]) => group!);
  return [...byGroup].map(([group, found]) => [group, found.map(([, word]) => word!)]);
};

/** The options of each command, by its words. */
const options = (): [name: string, options: string[]][] =>
  REMOTE_COMMANDS.map((command) => [
    command.name,
    [...command.options, ...EVERYWHERE].map(({ name }) => `--${name}`),
  ]);

function bashScript(first: readonly string[]): string {
  const second = groups().map(([group, words]) =>
    `    2:${group}\\ *) offered="${words.join(" ")}" ;;`
  );
  const rest = options().map(([name, found]) =>
    `    *:${name.replace(" ", "\\ ")}\\ *) offered="${found.join(" ")}" ;;`
  );
  // An argument that begins with a dash is an option.
  const agents = ofAgents().map((words) =>
    `    ${words.length + 1}:${words.join("\\ ")}\\ [!-]*) offered="$(${NAMES})" ;;`
  );
  return `_relay() {
  local offered=""
  case "$COMP_CWORD:\${COMP_WORDS[*]:1} " in
    1:*) offered="${first.join(" ")}" ;;
${[...second, ...agents, ...rest].join("\n")}
  esac
  COMPREPLY=($(compgen -W "$offered" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _relay relay`;
}

function fishScript(first: readonly string[]): string {
  const second = groups().map(([group, words]) => {
    const seen = `__fish_seen_subcommand_from ${group}; and not __fish_seen_subcommand_from ${
      words.join(" ")
    }`;
    return `complete -c relay -f -n "${seen}" -a "${words.join(" ")}"`;
  });
  const rest = options().flatMap(([name, found]) => {
    const seen = name.split(" ").map((word) => `__fish_seen_subcommand_from ${word}`).join(
      "; and ",
    );
    return found.map((option) => `complete -c relay -n "${seen}" -l ${option.slice(2)}`);
  });
  const start = `complete -c relay -f -n __fish_use_subcommand -a "${first.join(" ")}"`;
  const agents = ofAgents().map((words) => {
    const seen = words.map((word) => `__fish_seen_subcommand_from ${word}`).join("; and ");
    const here = `test (count (commandline -opc)) -eq ${words.length + 1}`;
    return `complete -c relay -f -n "${seen}; and ${here}" -a "(${NAMES})"`;
  });
  return [start, ...second, ...agents, ...rest].join("\n");
}
