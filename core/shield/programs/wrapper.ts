/** How a program that runs another program names it. */
export interface Wrapper {
  /** Subcommand words that must come first, such as `compose exec`. */
  readonly verbs: readonly string[];
  /** Short options whose value is the next argument. */
  readonly short: string;
  /** Short options that take the rest of their word: `nsenter -m/proc/1/ns/mnt`. */
  readonly attached?: string;
  /** Long options (without `--`) whose value is the next argument. */
  readonly long: readonly string[];
  /** Operands before the inner command: a duration, a host, a container. */
  readonly skip: number;
  /**
   * `argv`: the rest is program and arguments. `shell`: the rest is joined and given to a shell. `keys`: the same,
   * typed into a terminal, where a key ends each line.
   */
  readonly mode: "argv" | "shell" | "keys";
  /** Whether `NAME=value` may stand before the inner command. */
  readonly assigns: boolean;
  /** Whether options end at the last operand, so that what follows is the inner command's. */
  readonly ends: boolean;
}

/** The short form of a wrapper: words stand in one text, and omitted fields are empty. */
export type WrapperFields =
  & Partial<Omit<Wrapper, "verbs" | "long">>
  & { readonly verbs?: string; readonly long?: string };

/** Fills in the omitted fields of a wrapper. */
export function wrapperOf(fields: WrapperFields): Wrapper {
  return {
    verbs: words(fields.verbs),
    short: fields.short ?? "",
    attached: fields.attached ?? "",
    long: words(fields.long),
    skip: fields.skip ?? 0,
    mode: fields.mode ?? "argv",
    assigns: fields.assigns ?? false,
    ends: fields.ends ?? false,
  };
}

/** The same wrapper for several subcommands. */
export const forVerbs = (verbs: readonly string[], fields: WrapperFields): WrapperFields[] =>
  verbs.map((one) => ({ ...fields, verbs: one }));

/** The words of a text. */
const words = (text = ""): string[] => text === "" ? [] : text.split(" ");

/** The inner command of one wrapper, or null when the arguments name none. */
export function innerCommand(
  wrapper: Wrapper,
  args: readonly string[],
): { argv: string[]; assignments: [string, string][] } | null {
  let verb = 0;
  let skipped = 0;
  let literal = false;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    if (!literal && arg === "--") {
      literal = true;
      continue;
    }
    // `env -` is `env -i`.
    if (!literal && wrapper.assigns && arg === "-") continue;
    const started = wrapper.ends && skipped === wrapper.skip;
    if (!literal && !started && arg.startsWith("-") && arg.length > 1) {
      if (takesNext(wrapper, arg)) i++;
      continue;
    }
    if (verb < wrapper.verbs.length) {
      if (arg.toLowerCase() !== wrapper.verbs[verb]) return null;
      verb++;
    } else if (skipped < wrapper.skip) {
      skipped++;
    } else {
      const assignments: [string, string][] = [];
      let at = i;
      for (; wrapper.assigns && at < args.length; at++) {
        const equals = (args[at] ?? "").indexOf("=");
        if (equals < 1) break;
        assignments.push([(args[at] ?? "").slice(0, equals), (args[at] ?? "").slice(equals + 1)]);
      }
      const argv = args.slice(at);
      if (argv[0] === "--") argv.shift();
      return argv.length === 0 ? null : { argv, assignments };
    }
  }
  return null;
}

function takesNext(wrapper: Wrapper, arg: string): boolean {
  if (arg.startsWith("--")) return !arg.includes("=") && wrapper.long.includes(arg.slice(2));
  for (let i = 1; i < arg.length; i++) {
    if (wrapper.attached?.includes(arg[i] ?? "")) return false;
    if (wrapper.short.includes(arg[i] ?? "")) return i === arg.length - 1;
  }
  return false;
}
