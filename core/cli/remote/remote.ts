import { createClient } from "../../client/client.ts";
import { nearestOf } from "../../codec/codec.ts";
import { parseArguments, UsageError } from "../arguments.ts";
import { asksForHelp } from "../help.ts";
import { type Call, EVERYWHERE, type RemoteCommand } from "./command.ts";
import { failureOf } from "./failure.ts";
import { commandHelp, groupHelp, usageOf } from "./help.ts";
import type { Host } from "./host.ts";
import { openOutput } from "./output.ts";
import { REMOTE_COMMANDS } from "./table.ts";
import { findTarget, type Target } from "./target.ts";

/** The most positional arguments of a command that takes several. */
const WORDS_MAX = 100;

/** The exit code when nobody reads the output any more, as after `| head`: that of a program without a handler. */
const UNREAD = 141;

/** Runs a command for people. Resolves to the exit code. */
export async function runRemote(
  group: string,
  args: readonly string[],
  host: Host,
): Promise<number> {
  const print = (text: string) => host.write(`${text}\n`);
  const complain = (text: string) => host.writeError(`${text}\n`);
  const commands = REMOTE_COMMANDS.filter(({ name }) => name.split(" ")[0] === group);
  const [word = "", ...others] = args;
  const named = commands.find(({ name }) => name === `${group} ${word}`);
  const command = named ?? commands.find(({ name }) => name === group);
  if (command === undefined) {
    const helps = word === "" || word.startsWith("-") || word === "help";
    if (helps) await print(groupHelp(group, commands));
    else await complain(unknown(group, word, commands));
    return asksForHelp(args) || word === "help" ? 0 : 2;
  }
  const given = named === undefined ? args : others;
  const cut = given.indexOf("--");
  const own = cut < 0 ? given : given.slice(0, cut);
  if (asksForHelp(own)) {
    await print(commandHelp(command));
    return 0;
  }
  let explain: Call["explain"] = (error) => failureOf(error, command);
  try {
    const rest = cut < 0 ? [] : given.slice(cut + 1);
    const call = await callOf(command, own, rest, host);
    explain = call.explain;
    return await (await command.load())(call) ?? 0;
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) return UNREAD;
    const { text, exit } = explain(error);
    await complain(text);
    return exit;
  }
}

function unknown(group: string, word: string, commands: readonly RemoteCommand[]): string {
  const words = commands.map(({ name }) => name.split(" ")[1]!);
  const near = nearestOf(word, words);
  const hint = near === undefined
    ? `It has ${words.join(", ")}.`
    : `Did you mean relay ${group} ${near}?`;
  return `There is no command ${JSON.stringify(`relay ${group} ${word}`)}. ${hint}`;
}

/** @throws {UsageError} */
async function callOf(
  command: RemoteCommand,
  own: readonly string[],
  rest: readonly string[],
  host: Host,
): Promise<Call> {
  const { takes } = command;
  const all = [...command.options, ...EVERYWHERE];
  const names = (some: typeof all) => some.map(({ name }) => name);
  const { options, positional } = await parseArguments({
    texts: names(all.filter(({ value, many }) => value !== undefined && !many)),
    lists: names(all.filter(({ many }) => many)),
    switches: names(all.filter(({ value }) => value === undefined)),
    aliases: Object.fromEntries(
      all.flatMap(({ letter, name }) => letter === undefined ? [] : [[letter, name]]),
    ),
    positional: takes.some((what) => what.includes("…")) ? WORDS_MAX : takes.length,
  }, own);
  const needed = takes.filter((what) => !what.endsWith("?")).length;
  if (positional.length < needed || (rest.length > 0) !== (command.rest !== undefined)) {
    throw new UsageError(`Usage: ${usageOf(command)}.`);
  }
  const value = (name: string) => (options as Readonly<Record<string, unknown>>)[name];
  const text = (name: string) => value(name) as string | undefined;
  const has = (name: string) => value(name) === true;
  const choices = {
    output: text("output"),
    json: has("json"),
    quiet: has("quiet"),
    noColor: has("no-color"),
  };
  let target: Target | null = null;
  const found = () => target ??= findTarget({ url: text("url"), profile: text("profile") }, host);
  return {
    args: positional,
    rest,
    text,
    number(name) {
      const given = text(name);
      if (given === undefined) return undefined;
      if (/^\d{1,9}$/.test(given)) return Number(given);
      throw new UsageError(
        `The option --${name} needs a whole number, not ${JSON.stringify(given)}.`,
      );
    },
    list: (name) => value(name) as readonly string[] | undefined ?? [],
    has,
    out: openOutput(choices, host),
    host,
    explain: (error) => failureOf(error, command, target?.url),
    target: found,
    relay: () => createClient({ url: found().url, token: found().token, fetch: host.fetch }),
  };
}

export { machine } from "./host.ts";
