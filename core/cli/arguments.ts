import {
  ArgumentScannerError,
  buildApplication,
  buildCommand,
  type FlagParametersForType,
  formatMessageForArgumentScannerError,
  run,
  text_en,
} from "@stricli/core";

/** What a command takes besides `--help`, by the names of its options. */
export interface Parameters<Text extends string, List extends string, Switch extends string> {
  /** Options with a value. */
  readonly texts?: readonly Text[];
  /** Options with a value that may be given several times. */
  readonly lists?: readonly List[];
  /** Options without a value. */
  readonly switches?: readonly Switch[];
  /** Letters that stand for options: `-o` for `--output`. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** The largest number of positional arguments. */
  readonly positional?: number;
}

/** The options that were given. Each command checks which it needs. */
export type Options<Text extends string, List extends string, Switch extends string> =
  & { readonly [name in Text]?: string }
  & { readonly [name in List]?: readonly string[] }
  & { readonly [name in Switch]?: boolean };

/** Raised for wrong arguments; the message is a sentence that says what is wrong. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/**
 * Parses a command's arguments; both `--name value` and `--name=value` are options.
 * @throws {UsageError}
 */
export async function parseArguments<
  const Text extends string = never,
  const List extends string = never,
  const Switch extends string = never,
>(
  parameters: Parameters<Text, List, Switch>,
  args: readonly string[],
): Promise<{ options: Options<Text, List, Switch>; positional: readonly string[] }> {
  const wrong = args.map(misread).find((problem) => problem !== null);
  if (wrong) throw new UsageError(wrong);
  let options: unknown, positional: readonly string[] = [];
  const command = buildCommand<Flags, string[]>({
    parameters: {
      flags: flagsOf(parameters),
      aliases: parameters.aliases ?? {},
      positional: {
        kind: "array",
        parameter: { brief: "", parse: String },
        maximum: parameters.positional ?? 0,
      },
    },
    docs: { brief: "" },
    func(flags, ...args) {
      const given = Object.entries(flags).filter(([, value]) => value !== undefined);
      [options, positional] = [Object.fromEntries(given), args];
    },
  });
  const text = { ...text_en, exceptionWhileParsingArguments: sentenceOf };
  // Without integrations, since each command prints its own help.
  const application = buildApplication(command, { name: "relay", localization: { text } }, {});
  const problems: string[] = [];
  const stderr = { write: (line: string) => void problems.push(line.trim()) };
  await run(application, args, { process: { stdout: stderr, stderr } });
  if (problems[0] !== undefined) throw new UsageError(problems[0]);
  // Stricli takes a letter with its value, as in -lenv=prod, for a positional argument.
  const dashed = positional.find((argument) => /^-./.test(argument));
  if (dashed !== undefined) throw new UsageError(noOption(dashed));
  return { options: options as Options<Text, List, Switch>, positional };
}

type Flags = Readonly<Record<string, string | undefined>>;

function flagsOf(
  { texts = [], lists = [], switches = [] }: Parameters<string, string, string>,
): FlagParametersForType<Flags> {
  const flag = { brief: "", optional: true } as const;
  const text = (name: string) => ({ ...flag, kind: "parsed", parse: valueOf(name) });
  const entries = [
    ...texts.map((name) => [name, text(name)]),
    ...lists.map((name) => [name, { ...text(name), variadic: true }]),
    ...switches.map((name) => [name, { ...flag, kind: "boolean", withNegated: false }]),
  ];
  return Object.fromEntries(entries);
}

/** An empty shell variable leaves no value, or the next option in its place. */
const valueOf = (name: string) => (value: string): string => {
  if (value === "" || value.startsWith("--")) throw new Error(needsValue(name));
  return value;
};

/** Finds arguments that Stricli 1.3 misreads. */
function misread(argument: string): string | null {
  const [, name] = /^--([\w-]+)(?:=.*)?$/s.exec(argument) ?? [];
  if (name === undefined) return null;
  // It looks options up in objects that inherit names such as toString.
  if (name in {}) return noOption(`--${name}`);
  // It takes an option with an empty value for a positional argument.
  return argument === `--${name}=` ? needsValue(name) : null;
}

const noOption = (option: string) => `There is no option ${JSON.stringify(option)}.`;
const needsValue = (name: string) => `The option --${name} needs a value.`;

function sentenceOf(error: unknown): string {
  if (!(error instanceof ArgumentScannerError)) return String(error);
  return formatMessageForArgumentScannerError(error, {
    FlagNotFoundError: ({ input, corrections: [near] }) =>
      noOption(`--${input}`) + (near === undefined ? "" : ` Did you mean --${near}?`),
    AliasNotFoundError: ({ input }) => noOption(`-${input}`),
    ArgumentParseError: ({ exception }) => (exception as Error).message,
    UnsatisfiedFlagError: ({ externalFlagName }) => needsValue(externalFlagName),
    UnexpectedFlagError: ({ externalFlagName }) =>
      `The option --${externalFlagName} may be given only once.`,
    UnexpectedPositionalError: ({ input }) => `Unexpected argument ${JSON.stringify(input)}.`,
  });
}
