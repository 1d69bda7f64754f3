import { type Client, type Command, RelayError } from "../../client/client.ts";
import { UsageError } from "../arguments.ts";
import { deciders } from "./approvals.ts";
import type { Call, Run } from "./command.ts";
import { failureOf } from "./failure.ts";

const TIMED_OUT = 124;
const NO_RESULT = 125;
const HELD = 126;
const INTERRUPTED = 130;
/** The answer to the start may wait for the end for this long; most commands need no second request. */
const FIRST_WAIT_SECONDS = 1;
const POLL_MS = 100;
const POLL_MS_MAX = 2_000;

/** `relay exec` */
export const exec: Run = async (call) => {
  const { relay, args: [id = ""], rest, number, host } = call;
  const timeout = number("timeout");
  if (timeout === 0) throw new UsageError("The option --timeout needs a number from 1 to 600.");
  const interrupted = new AbortController();
  // From here on Ctrl-C ends the command on the agent instead of this program.
  const forget = host.onInterrupt(() => interrupted.abort());
  try {
    const client = relay();
    const begun = await start(client, id, { command: shellLine(rest), timeout });
    const command = await untilEnded(call, client, begun, interrupted.signal);
    if (command === null) return INTERRUPTED;
    return await report(call, command);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    // Codes below 124 are the command's own.
    await host.writeError(`${failureOf(error, "exec").text}\n`);
    return NO_RESULT;
  } finally {
    forget();
  }
};

const start = (
  client: Client,
  id: string,
  { command, timeout }: { readonly command: string; readonly timeout: number | undefined },
): Promise<Command> =>
  client.call("commands.start", {
    params: { id },
    body: { command, timeout, wait: FIRST_WAIT_SECONDS },
  });

/** The command after its end, or held for approval when nobody waits for that; null when it was interrupted. */
async function untilEnded(
  call: Call,
  client: Client,
  begun: Command,
  interrupted: AbortSignal,
): Promise<Command | null> {
  const params = { id: begun.agent_id, command_id: begun.command_id };
  let command = begun, waits = false;
  for (let ms = POLL_MS; !hasEnded(command); ms = Math.min(ms * 2, POLL_MS_MAX)) {
    if (command.status === "pending_approval" && !waits) {
      waits = await mayWait(call, client, command);
      if (!waits) return command;
    }
    await call.host.sleep(ms, interrupted);
    if (interrupted.aborted) {
      await call.out.note("Cancelling …");
      await client.call("commands.cancel", { params, body: {} }).catch(hadEnded);
      return null;
    }
    command = await client.call("commands.get", { params });
  }
  return command;
}

/** Tells who may approve the command, and whether to wait for them. */
async function mayWait({ has, host, out }: Call, client: Client, command: Command) {
  const pid = command.approval_id!;
  const { explanation, risk_score } = command.shield_result;
  await out.note(`Held for approval, risk ${risk_score}: ${explanation}`);
  const approval = await client.call("approvals.get", { params: { pid } }).catch(unseen);
  const who = approval === null ? "a person with approvals:write" : deciders(approval);
  await out.note(`${capital(who)} may decide: relay approvals approve ${pid}`);
  if (has("wait")) return true;
  const answer = host.interactive ? host.ask("Wait for the decision? [Y/n]") : "n";
  return !/^n/i.test(answer?.trim() ?? "n");
}

/** Prints the result; the exit code of this program. */
async function report({ out, host, has }: Call, command: Command): Promise<number> {
  if (out.format !== "table" || has("quiet")) await out.item(command, command.command_id, []);
  else {
    await host.write(command.stdout);
    await host.writeError(command.stderr);
    if (command.truncated) await out.note("relay: the output was longer; this is a part of it.");
  }
  const { status, exit_code, reason, command_id } = command;
  if (exit_code !== null && (status === "succeeded" || status === "failed")) return exit_code;
  if (status === "pending_approval") {
    await out.note(`Not waiting. The command ${command_id} runs when it is approved.`);
    return HELD;
  }
  const why = reason ?? command.signal ?? "";
  await out.note(`relay: the command ${command_id} has no exit code: ${status} ${why}`.trimEnd());
  return status === "timed_out" ? TIMED_OUT : NO_RESULT;
}

const hasEnded = ({ status }: Command): boolean =>
  !["queued", "running", "pending_approval"].includes(status);

/** Arguments as one line for the agent's shell: a single one as it is, several as separate words. */
export function shellLine(words: readonly string[]): string {
  if (words.length === 1) return words[0]!;
  return words.map((word) =>
    /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
  ).join(" ");
}

function hadEnded(error: unknown): void {
  if (!(error instanceof RelayError) || error.code !== "CONFLICT") throw error;
}

function unseen(error: unknown): null {
  if (error instanceof RelayError && (error.status === 403 || error.status === 404)) return null;
  throw error;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
