import type { Host } from "../../../core/cli/remote/host.ts";
import { runRemote } from "../../../core/cli/remote/remote.ts";
import type { World } from "../../support/world.ts";

/** What a command printed, and its exit code. */
export interface Printed {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

interface Options {
  readonly env?: Readonly<Record<string, string>>;
  /** What is typed on the standard input. */
  readonly input?: string;
  /** The standard input, where it stays open. */
  readonly stdin?: ReadableStream<Uint8Array>;
  /** Stands between the command and the relay. */
  readonly through?: (send: typeof fetch) => typeof fetch;
  /** The answers of a person; without them nobody is there. */
  readonly answers?: readonly string[];
  /** Receives what is written to the standard error, as it is written. */
  readonly saw?: (text: string) => void;
  /** Receives what is written to the standard output, as it is written. */
  readonly sawOut?: (text: string) => void;
  /** Takes the addresses that are shown in a browser; without it there is none. */
  readonly browse?: (address: string) => boolean;
  /** Called instead of waiting. */
  readonly sleep?: (ms: number) => Promise<void>;
  /** Receives what ends the waiting, as Ctrl-C does. */
  readonly onInterrupt?: (interrupt: () => void) => void;
}

/** A terminal in front of a world: its home is a folder, its relay any address. */
export function terminal(world: World, home: string) {
  const urls: string[] = [];
  const hostOf = (options: Options, printed: { out: string; err: string }): Host => {
    const answers = [...options.answers ?? []];
    const send: typeof fetch = async (url, init) => {
      const { origin, pathname, search } = new URL(url as string);
      urls.push(origin);
      return await world.send(new Request(`http://localhost${pathname}${search}`, init));
    };
    return {
      env: { HOME: home, ...options.env },
      fetch: options.through?.(send) ?? send,
      write(text) {
        printed.out += text;
        options.sawOut?.(text);
        return Promise.resolve();
      },
      writeError(text) {
        printed.err += text;
        options.saw?.(text);
        return Promise.resolve();
      },
      interactive: options.answers !== undefined,
      ask(question) {
        printed.err += `${question} `;
        return answers.shift() ?? null;
      },
      readLine: () => options.input ?? "",
      input: () =>
        options.stdin ?? ReadableStream.from([new TextEncoder().encode(options.input ?? "")]),
      now: () => world.clock.nowMs,
      random: () => 0.5,
      sleep: options.sleep ?? ((ms) => world.advance(ms)),
      after: () => () => {},
      onInterrupt(interrupt) {
        options.onInterrupt?.(interrupt);
        return () => {};
      },
      deviceName: () => "ana@laptop",
      browse: (address) => options.browse?.(address) ?? false,
    };
  };
  const run = async (line: readonly string[], options: Options = {}): Promise<Printed> => {
    const printed = { out: "", err: "" };
    const [group = "", ...args] = line;
    const code = await runRemote(group, args, hostOf(options, printed));
    return { code, ...printed };
  };
  const host = () => hostOf({}, { out: "", err: "" });
  return { run, host, urls, profiles: `${home}/.config/relay/profiles.json` };
}

/** A world with a signed-in terminal in a folder of its own. */
export async function withTerminal(
  world: World,
  use: (at: ReturnType<typeof terminal>) => Promise<void>,
): Promise<void> {
  const home = await Deno.makeTempDir({ prefix: "relay-test-" });
  try {
    await use(terminal(world, home));
  } finally {
    await Deno.remove(home, { recursive: true });
  }
}

/** Signs the terminal in as a person that `World.signUp` made. */
export const LOGIN = ["login", "--email", "person1@example.com", "--password-stdin"];
export const PASSWORD = { input: "password 1" };
