import { parseArguments, UsageError } from "../../arguments.ts";

/** The parsed command line. The environment may add what is missing. */
export interface AgentArguments {
  readonly url?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  /** The credential is the first line of standard input. */
  readonly tokenStdin?: boolean;
  /** The user that commands run as. */
  readonly runAs?: string;
  readonly name?: string;
  readonly stateDir?: string;
  /** The one-time code of `relay agent pair`. */
  readonly code?: string;
  /** The verdict key of `relay agent trust`. */
  readonly key?: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Files and folders that may be backed up, as given. */
  readonly backup: readonly string[];
}

/** Parses the arguments of `relay agent`. @throws {UsageError} */
export async function parseAgentArguments(args: readonly string[]): Promise<AgentArguments> {
  const { options } = await parseArguments({
    texts: ["url", "token", "token-file", "run-as", "name", "state", "code", "key"],
    lists: ["label", "backup"],
    switches: ["token-stdin"],
  }, args);
  const {
    label = [],
    backup = [],
    state: stateDir,
    "run-as": runAs,
    "token-file": tokenFile,
    "token-stdin": tokenStdin,
    ...others
  } = options;
  return {
    ...others,
    ...(stateDir !== undefined && { stateDir }),
    ...(runAs !== undefined && { runAs }),
    ...(tokenFile !== undefined && { tokenFile }),
    ...(tokenStdin !== undefined && { tokenStdin }),
    labels: Object.fromEntries(label.map(labelOf)),
    backup,
  };
}

function labelOf(text: string): [key: string, value: string] {
  const cut = text.indexOf("=");
  if (cut < 1) throw new UsageError(`The label "${text}" is not of the form key=value.`);
  return [text.slice(0, cut), text.slice(cut + 1)];
}
