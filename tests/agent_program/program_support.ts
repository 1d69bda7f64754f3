import { fakeToken } from "./fake_relay.ts";

const PROGRAM = new URL("./agent_program.ts", import.meta.url).href;

/** What an agent that is root says at its start where no user is named for its commands. */
export const ADVICE_TO_ROOT = Deno.uid() === 0
  ? "warning: commands run as root and can read this agent's credential and keys: give them a user with --run-as\n"
  : "";

/** Starts `relay agent` in a process of its own; `input` is its standard input. */
export function startProgram(
  args: readonly string[],
  { env = {}, input = "" }: { env?: Record<string, string>; input?: string } = {},
) {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", PROGRAM, ...args],
    env,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const written = new Blob([input]).stream().pipeTo(child.stdin).catch(() => {});
  child.status.then(() => written);
  return child;
}

/** Starts `relay agent` with a credential that a fake relay takes, through the standard input. */
export const startWithToken = (args: readonly string[], env: Record<string, string> = {}) =>
  startProgram(["--token-stdin", ...args], { env, input: `${fakeToken}\n` });

/** Both outputs of a program that has ended, and its code. */
export async function endOf(program: ReturnType<typeof startProgram>) {
  const { code, stdout, stderr } = await program.output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}
