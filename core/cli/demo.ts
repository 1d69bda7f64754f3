import { runCommand } from "./command.ts";
import { type DemoRun, runStory } from "./demo_story.ts";
import { openTerminal, type Terminal } from "./terminal.ts";

const HELP = `relay demo: show a relay, an agent, a command and webhooks on this machine

Usage:
  relay demo [--keep]

Options:
  --keep   Keep it running until Ctrl-C, and print how to use it.
  --help   Show this text.

The demo uses a temporary folder and free ports of 127.0.0.1, and removes its files afterwards.

Exit codes:
  0  every check passed
  1  a check failed, as printed
  2  wrong arguments
`;
const INTERRUPTED = 130; // 128 + SIGINT, as in shells
/** Lines of the relay's output shown after a failure. */
const LINES_SHOWN = 10;

/** Runs `relay demo`; resolves to the exit code. */
export function demoCommand(args: string[]): Promise<number> {
  return runCommand({ name: "demo", help: HELP, switches: ["keep"], run: runDemo }, args);
}

async function runDemo({ keep = false }: { readonly keep?: boolean }): Promise<number> {
  const terminal = openTerminal();
  const interruption = new AbortController();
  const { promise: interrupted, resolve: interrupt } = Promise.withResolvers<"interrupted">();
  const stop = () => {
    interruption.abort();
    interrupt("interrupted");
  };
  for (const signal of SIGNALS) Deno.addSignalListener(signal, stop);
  const run: DemoRun = { terminal, cleanup: [], signal: interruption.signal, relay: null };
  try {
    const outcome = await Promise.race([runStory(run), interrupted]);
    if (outcome === "interrupted") return INTERRUPTED;
    if (!keep) return 0;
    terminal.say(`\n${outcome.howToUse}\n\nCtrl-C ends it.`);
    await interrupted;
    return 0;
  } catch (error) {
    terminal.bad(error instanceof Error ? error.message : String(error));
    const said = run.relay?.lines.slice(-LINES_SHOWN).join("\n");
    if (said) terminal.note(terminal.dim(`Output of the relay:\n${said}`));
    terminal.say("\nThe demo failed.");
    return 1;
  } finally {
    await cleanUp(run, terminal);
    for (const signal of SIGNALS) Deno.removeSignalListener(signal, stop);
  }
}

const SIGNALS: readonly Deno.Signal[] = Deno.build.os === "windows"
  ? ["SIGINT", "SIGBREAK"]
  : ["SIGINT", "SIGTERM"];

/** Undoes the steps in reverse order. A failure does not stop the rest. */
async function cleanUp({ cleanup }: DemoRun, terminal: Terminal): Promise<void> {
  for (let undo = cleanup.pop(); undo !== undefined; undo = cleanup.pop()) {
    await undo().catch((error) => terminal.bad(`clean-up: ${error}`));
  }
}
