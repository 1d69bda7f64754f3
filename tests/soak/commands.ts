import type { Answer } from "../clients/status_client.ts";
import { appendTo, changeOthers, event, exec, type Note, start } from "../crash/load.ts";
import { oneOf } from "./work.ts";
import type { Job } from "./work.ts";
import type { Place } from "./place.ts";

/** A command whose end is checked when all is over. */
export interface Expected {
  readonly path: string;
  /** What its status may be then. */
  readonly statuses: RegExp;
  /** The text of one that must never have run. */
  readonly never?: string;
}

/** What the callers of commands know beyond the ledger. */
export interface CommandRecord {
  /** Of waiting, cancelled and late commands. */
  readonly expected: Expected[];
  /** Marks that the victim's commands wrote, by the caller's answer. */
  readonly victims: string[];
  /** Texts of refused commands: each is one event for webhooks. */
  readonly denied: Set<string>;
  /** How long commands took their callers since the last look, in ms. */
  tookMs: number[];
}

interface Ran {
  readonly command_id: string;
  readonly status: string;
  readonly stdout: string;
  readonly truncated: boolean;
  readonly approval_id: string;
}

/** Nobody decided it: it is pending until it expires, which may be recorded up to a minute late. */
const UNDECIDED = /^(pending_approval|expired)$/;

/** Callers of commands, of every kind. */
export function commandJobs(place: Place, record: CommandRecord): Job[] {
  const { owner, approver, ledger, steady, victim, echoIds, dice, work } = place;
  const client = owner;
  const note: Note = (answer, status, what) => {
    const body = oneOf(answer, [status], what);
    ledger.requests.push(answer.requestId);
    return body;
  };
  const caller = { client, agentId: steady.id, counterFile: steady.counter, ledger };
  const run = (id: string, command: string, more = "") =>
    client<Ran>("GET", `/api/exec/${id}?command=${encodeURIComponent(command)}${more}`);
  const pathOf = (agent: string, id: string) => `/api/v1/agents/${agent}/commands/${id}`;
  const late = (agent: string, id: string, statuses: RegExp, never?: string) => {
    const path = pathOf(agent, id);
    record.expected.push({ path, statuses, ...(never !== undefined && { never }) });
  };

  async function echo() {
    const beganMs = performance.now();
    note(await run(dice.pick(echoIds), `uptime # ${ledger.nextMark()}`), 200, "a command");
    record.tookMs.push(performance.now() - beganMs);
  }

  async function kill() {
    const mark = ledger.nextMark();
    const answer = await run(victim.id, appendTo(victim.counter, mark));
    const { status } = oneOf(answer, [200, 409, 502, 503], "a command for the victim");
    if (answer.status === 200 && status === "succeeded") record.victims.push(mark);
  }

  async function print() {
    const bytes = dice.pick([200_000, 900_000, 3_000_000]);
    const text = `head -c ${bytes} /dev/zero | tr '\\0' x # ${ledger.nextMark()}`;
    const { truncated, stdout } = note(await run(steady.id, text), 200, "much output");
    if (truncated !== bytes > 1_048_576 || (!truncated && stdout.length !== bytes)) {
      throw new Error(`${bytes} bytes came as ${stdout.length}, truncated: ${truncated}`);
    }
  }

  async function cancel() {
    const started = await client<Ran>("POST", `/api/v1/agents/${steady.id}/commands`, {
      command: `sleep 20 # ${ledger.nextMark()}`,
    });
    const { command_id } = note(started, 202, "a command to cancel");
    await work.rest(50 + dice.below(300));
    const path = pathOf(steady.id, command_id);
    late(steady.id, command_id, /^(cancelled|succeeded|lost|failed)$/);
    const answer = await client("POST", `${path}/cancel`);
    oneOf(answer, [200, 409], "a cancel");
    if (answer.status === 200) late(steady.id, command_id, /^(cancelled|lost|failed)$/);
  }

  async function timeOut() {
    const answer = await run(steady.id, `sleep 20 # ${ledger.nextMark()}`, "&timeout=1");
    oneOf(answer, [504], "a command that takes too long");
  }

  async function repeat() {
    const mark = ledger.nextMark();
    const body = { command: appendTo(steady.counter, mark) };
    const headers = { "idempotency-key": mark };
    const send = () => client<Ran>("POST", `/api/v1/agents/${steady.id}/commands`, body, headers);
    const answers = [...await Promise.all([send(), send()]), await send()];
    const ids = answers.map((answer: Answer<Ran>) => note(answer, 202, "a repeat").command_id);
    if (new Set(ids).size !== 1) throw new Error(`a repeat made another command: ${ids}`);
    ledger.accepted.set(ids[0]!, mark);
  }

  async function fleet() {
    const command = `uptime # fleet ${ledger.nextMark()}`;
    const body = { labels: { env: "test" }, command, parallel: 1 + dice.below(6) };
    note(await client("POST", "/api/v1/commands", body), 202, "a fleet command");
  }

  async function deny() {
    const command = `rm -rf / # ${ledger.nextMark()}`;
    oneOf(await run(steady.id, command), [403], "a command to deny");
    record.denied.add(command);
  }

  async function ask() {
    const agent = dice.pick(echoIds);
    const command = `systemctl stop nginx # ${ledger.nextMark()}`;
    const asked = note(await run(agent, command), 202, "a command to approve");
    const decide = (verb: string) =>
      approver("POST", `/api/shield/${verb}/${asked.approval_id}`, { reason: "soak" });
    const choice = dice.below(3);
    await work.rest(dice.below(2_000));
    if (choice === 2) return late(agent, asked.command_id, UNDECIDED, command);
    const verb = choice === 0 ? "approve" : "reject";
    const answer = await decide(verb);
    oneOf(answer, [200, 409], `${verb} it`);
    // A step of the clock may have ended its time.
    if (answer.status === 409) late(agent, asked.command_id, UNDECIDED, command);
    else if (choice === 0) late(agent, asked.command_id, /^(succeeded|lost|failed)$/);
    else late(agent, asked.command_id, /^rejected$/, command);
  }

  return [
    ...[exec, exec, start, event, event].map((step) => ({
      name: step.name,
      everyMs: 250,
      act: () => step(caller, note),
    })),
    { name: "records", everyMs: 2_000, act: () => changeOthers(caller, note) },
    ...Array.from({ length: 4 }, () => ({ name: "echo", everyMs: 150, act: echo })),
    { name: "victim", everyMs: 400, act: kill },
    { name: "output", everyMs: 3_000, act: print },
    { name: "cancel", everyMs: 2_000, act: cancel },
    { name: "timeout", everyMs: 4_000, act: timeOut },
    { name: "idempotency", everyMs: 1_500, act: repeat },
    { name: "fleet", everyMs: 4_000, act: fleet },
    // A receiver that hangs gets one attempt at a time, and two a delivery: each takes a second.
    { name: "denied", everyMs: 3_000, act: deny },
    { name: "approvals", everyMs: 1_500, act: ask },
  ];
}
