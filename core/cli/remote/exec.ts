import { type Client, type Command, RelayError } from "../../client/client.ts";
import { UsageError } from "../arguments.ts";
import type { Call, Run } from "./command.ts";
import { type CommandEnd, followCommand, printer } from "./follow.ts";
import { waitsForDecision, whoMayDecide } from "./held.ts";

const TIMED_OUT = 124;
const NO_RESULT = 125;
const HELD = 126;
const INTERRUPTED = 130;

/** Told after output that is not whole: only 1 MiB is kept, and an agent without a link sends none. */
export const CUT = "this is only a part of the output; the rest was not kept.";

/** `relay exec` */
export const exec: Run = async (call) => {
  const { relay, args: [id = ""], rest, number, host } = call;
  const timeout = number("timeout");
  if (timeout === 0) throw new UsageError("The option --timeout needs a number from 1 to 600.");
  const interrupted = new AbortController();
  const forget = host.onInterrupt(() => interrupted.abort());
  try {
    const client = relay();
    const body = { command: shellLine(rest), timeout };
    const begun = await client.call("commands.start", { params: { id }, body });
    return await finish(call, client, begun, interrupted.signal);
  } catch (error) {
    if (error instanceof UsageError || error instanceof Deno.errors.BrokenPipe) throw error;
    // Codes below 124 are the command's own.
    await host.writeError(`${call.explain(error).text}\n`);
    return NO_RESULT;
  } finally {
    forget();
  }
};

/** Follows the command to its end, unless it is held and nobody waits for that; the exit code of this program. */
async function finish(
  call: Call,
  client: Client,
  begun: Command,
  interrupted: AbortSignal,
): Promise<number> {
  const { out, has, host } = call;
  const { status, agent_id, command_id } = begun;
  const plain = out.format === "table" && !has("quiet");
  if (status === "pending_approval" && !await mayWait(call, client, begun)) {
    if (!plain) await out.item(begun, command_id, []);
    await out.note(`Not waiting. The command ${command_id} runs when it is approved.`);
    return HELD;
  }
  const take = plain ? printer(host) : () => Promise.resolve();
  const end = await followCommand(client, begun, take, interrupted).catch(unread);
  const params = { id: agent_id, command_id };
  if (end === null) {
    await out.note("Cancelling …");
    await client.call("commands.cancel", { params, body: {} }).catch(hadEnded);
    return INTERRUPTED;
  }
  if (!plain) await out.item(await client.call("commands.get", { params }), command_id, []);
  return await exitCodeOf(call, end);
}

/** Says what is special about the end of a command; the exit code of this program. */
export async function exitCodeOf({ out }: Pick<Call, "out">, end: CommandEnd): Promise<number> {
  const { status, exit_code, reason, signal, command_id, truncated } = end;
  if (truncated) await out.note(`relay: ${CUT}`);
  if (exit_code !== null && (status === "succeeded" || status === "failed")) return exit_code;
  const why = reason ?? signal ?? "";
  await out.note(`relay: the command ${command_id} has no exit code: ${status} ${why}`.trimEnd());
  if (status === "lost") {
    await out.note(`Its agent may still report the end: relay commands show ${command_id}`);
  }
  return status === "timed_out" ? TIMED_OUT : NO_RESULT;
}

/** Tells who may approve the command, and whether to wait for them. */
async function mayWait(call: Call, client: Client, command: Command): Promise<boolean> {
  const pid = command.approval_id!;
  const { explanation, risk_score } = command.shield_result;
  await call.out.note(`Held for approval, risk ${risk_score}: ${explanation}`);
  await call.out.note(await whoMayDecide(call, client, pid));
  return waitsForDecision(call);
}

/** Arguments as one line for the agent's shell: a single one as it is, several as separate words. */
export function shellLine(words: readonly string[]): string {
  if (words.length === 1) return words[0]!;
  return words.map((word) =>
    /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
  ).join(" ");
}

/** Nobody reads the output any more, as after `| head`: the same as Ctrl-C. */
function unread(error: unknown): null {
  if (error instanceof Deno.errors.BrokenPipe) return null;
  throw error;
}

function hadEnded(error: unknown): void {
  if (!(error instanceof RelayError) || error.code !== "CONFLICT") throw error;
}
