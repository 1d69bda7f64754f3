/** What the command line says; the environment may fill in the rest. */
export interface AgentArguments {
  readonly url?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  /** Set where the credential is the first line of the standard input. */
  readonly tokenStdin?: true;
  /** The user that commands run as. */
  readonly runAs?: string;
  readonly name?: string;
  readonly stateDir?: string;
  /** The one-time code of `relay agent pair`. */
  readonly code?: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Files and folders that may be backed up, as they were written. */
  readonly backup: readonly string[];
}

const OPTIONS = {
  "--url": "url",
  "--token": "token",
  "--token-file": "tokenFile",
  "--name": "name",
  "--state": "stateDir",
  "--code": "code",
  "--run-as": "runAs",
} as const;

/**
 * Reads the arguments of `relay agent`, both `--name x` and `--name=x`: what they say, `"help"`, or
 * a failure with a sentence that names the wrong argument.
 */
export function parseAgentArguments(
  args: readonly string[],
): AgentArguments | "help" | { readonly failure: string } {
  const given: { -readonly [key in (typeof OPTIONS)[keyof typeof OPTIONS]]?: string } = {};
  const labels: Record<string, string> = {};
  const backup: string[] = [];
  let tokenStdin = false;
  const rest = [...args];
  for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
    if (argument === "--help" || argument === "-h") return "help";
    if (argument === "--token-stdin") {
      tokenStdin = true;
      continue;
    }
    const equals = argument.startsWith("--") ? argument.indexOf("=") : -1;
    const option = equals < 0 ? argument : argument.slice(0, equals);
    if (option !== "--label" && option !== "--backup" && !isOption(option)) {
      return { failure: `There is no option "${option}".` };
    }
    const value = equals < 0 ? rest.shift() : argument.slice(equals + 1);
    // An empty variable of a shell leaves the next option in the value's place.
    const missing = !value || equals < 0 && value.startsWith("--");
    if (missing) return { failure: `The option ${option} needs a value.` };
    if (option === "--backup") {
      backup.push(value);
      continue;
    }
    if (option !== "--label") {
      if (given[OPTIONS[option]] !== undefined) {
        return { failure: `The option ${option} may be given only once.` };
      }
      given[OPTIONS[option]] = value;
      continue;
    }
    const cut = value.indexOf("=");
    if (cut < 1) return { failure: `The label "${value}" is not of the form key=value.` };
    labels[value.slice(0, cut)] = value.slice(cut + 1);
  }
  return { ...given, ...(tokenStdin && { tokenStdin }), labels, backup };
}

function isOption(text: string): text is keyof typeof OPTIONS {
  return Object.hasOwn(OPTIONS, text);
}
