import {
  type Client,
  type FleetCommand,
  type FleetMember,
  RelayError,
} from "../../client/client.ts";
import { UsageError } from "../arguments.ts";
import type { Call, Run } from "./command.ts";
import { CUT, exec, shellLine } from "./exec.ts";
import { waitsForDecision, whoMayDecide } from "./held.ts";
import { labelsFrom } from "./labels.ts";
import { LiveLines } from "./live_lines.ts";

const HELD = 126;
const INTERRUPTED = 130;
/** The answer to the start may wait for the end for this long; short commands need no further look. */
const FIRST_WAIT_SECONDS = 1;
const POLL_MS = 100;
const POLL_MS_MAX = 2_000;
/** How long a cancelled fleet command is watched. */
const CANCEL_MS = 10_000;
const PAGE = 200;
/** How many commands are followed at once; the output of others is printed when they end. */
const LIVE_MAX = 20;
/** Ends may be recorded a little later than they say. */
const LATE_MS = 2_000;
const ENDED = "succeeded,failed,denied,rejected,expired,cancelled,timed_out,lost";

/** `relay exec`: on the agent that is named, or on those that the options choose. */
export const execOnSome: Run = (call) => {
  const many = call.has("all") || call.list("label").length > 0;
  if (many === (call.args.length > 0)) {
    throw new UsageError("Name one agent, or choose agents with -l key=value or --all.");
  }
  return many ? execOnMany(call) : exec(call);
};

const execOnMany: Run = async (call) => {
  const { host, out } = call;
  const interrupted = new AbortController();
  let watch: Watch | undefined;
  const forget = host.onInterrupt(() => interrupted.abort());
  try {
    const client = call.relay();
    const begun = await client.call("fleet_commands.start", { body: bodyOf(call) });
    watch = new Watch(call, client, begun);
    await watch.tellHeld();
    const ended = await watch.untilEnded(interrupted.signal).catch(async (error) => {
      // Nobody reads the output any more, as after `| head`.
      if (error instanceof Deno.errors.BrokenPipe) await cancel(client, begun.id);
      throw error;
    });
    if (out.format !== "table" || call.has("quiet")) {
      await out.item({ ...ended, commands: watch.members }, ended.id, []);
    }
    await out.note(summaryOf(ended));
    if (interrupted.signal.aborted) return INTERRUPTED;
    if (ended.status !== "running") return ended.status === "succeeded" ? 0 : 1;
    await out.note("Not waiting. The held commands run when they are approved.");
    return HELD;
  } finally {
    watch?.leave();
    forget();
  }
};

function bodyOf({ has, list, number, rest }: Call) {
  const labels = labelsFrom(list("label"));
  if (has("all") && list("label").length > 0) throw new UsageError("Give -l or --all, not both.");
  return {
    ...(has("all") ? { all: true as const } : { labels }),
    command: shellLine(rest),
    timeout: number("timeout"),
    parallel: number("parallel"),
    stop_after_failures: number("stop-after-failures"),
    wait: FIRST_WAIT_SECONDS,
  };
}

/** Prints the results of a fleet command as they come. */
class Watch {
  /** The commands that have ended, in the order in which they were seen; none when they are printed as they come. */
  readonly members: FleetMember[] = [];
  readonly #seen = new Set<string>();
  /** When the last of those ended, in ms. */
  #endedMs = 0;
  /** The running commands whose output is followed. */
  readonly #live = new Map<string, LiveLines>();
  readonly #printsLines: boolean;
  #waits = false;

  constructor(
    private readonly call: Call,
    private readonly client: Client,
    private fleet: FleetCommand,
  ) {
    this.#printsLines = call.out.format === "table" && !call.has("quiet");
  }

  /** Tells which requests hold commands back, and whether to wait for them. */
  async tellHeld(): Promise<void> {
    const { fleet: { approvals, counts, total }, call, client } = this;
    if (!counts.pending_approval) return;
    await call.out.note(`Held for approval on ${counts.pending_approval} of ${total} agents.`);
    for (const pid of approvals) await call.out.note(await whoMayDecide(call, client, pid));
    this.#waits = waitsForDecision(call);
  }

  /** Resolves when all commands have ended, or only held ones are left and nobody waits for those. */
  async untilEnded(interrupted: AbortSignal): Promise<FleetCommand> {
    const { call: { host, out }, client } = this;
    const params = { id: this.fleet.id };
    let cancelledMs: number | null = null;
    for (let ms = POLL_MS;; ms = Math.min(ms * 2, POLL_MS_MAX)) {
      await this.#printEnded();
      await this.#followRunning();
      for (const lines of this.#live.values()) lines.mustHaveReader();
      if (this.fleet.status !== "running" || this.#onlyHeld()) return this.fleet;
      if (cancelledMs !== null && host.now() - cancelledMs > CANCEL_MS) return this.fleet;
      await host.sleep(ms, cancelledMs === null ? interrupted : undefined);
      if (interrupted.aborted && cancelledMs === null) {
        cancelledMs = host.now();
        ms = POLL_MS;
        await out.note("Cancelling …");
        await cancel(client, this.fleet.id);
      }
      const page = await client.call("fleet_commands.get", { params, query: { limit: 1 } });
      const { commands: _, cursor: _cursor, ...fleet } = page;
      this.fleet = fleet;
    }
  }

  /** Leaves the output of commands that still run. */
  leave(): void {
    for (const lines of this.#live.values()) lines.leave();
  }

  async #followRunning(): Promise<void> {
    const { call: { host }, client, fleet: { id, counts: { running = 0 } } } = this;
    if (!this.#printsLines || this.#live.size >= Math.min(running, LIVE_MAX)) return;
    const query = { status: "running", limit: LIVE_MAX } as const;
    const page = await client.call("fleet_commands.get", { params: { id }, query });
    for (const member of page.commands) {
      if (this.#live.has(member.command_id) || this.#live.size >= LIVE_MAX) continue;
      const lines = new LiveLines(host, member);
      this.#live.set(member.command_id, lines);
      lines.follow(client);
    }
  }

  #onlyHeld(): boolean {
    const { counts } = this.fleet;
    const { pending_approval: held = 0 } = counts;
    return !this.#waits && held > 0 && this.#seen.size + held === this.fleet.total;
  }

  async #printEnded(): Promise<void> {
    const { fleet: { counts } } = this;
    const ended = ENDED.split(",").reduce((sum, name) => sum + counts[name as Status]!, 0);
    if (ended > this.#seen.size) await this.#printSince(this.#endedMs - LATE_MS);
    if (ended > this.#seen.size) await this.#printSince(0);
  }

  async #printSince(ms: number): Promise<void> {
    const { client, fleet: { id } } = this;
    const ended_since = new Date(Math.max(0, ms)).toISOString();
    let cursor: string | undefined;
    do {
      const query = { output: "true", status: ENDED, ended_since, limit: PAGE, cursor } as const;
      const page = await client.call("fleet_commands.get", { params: { id }, query });
      cursor = page.cursor ?? undefined;
      for (const member of [...page.commands].sort(byName)) {
        if (this.#seen.has(member.command_id)) continue;
        this.#seen.add(member.command_id);
        this.#endedMs = Math.max(this.#endedMs, Date.parse(member.finished_at!));
        await this.#print(member);
      }
    } while (cursor !== undefined);
  }

  async #print(member: FleetMember): Promise<void> {
    const { call: { has, host, out }, client } = this;
    if (has("quiet")) return;
    const whole = member.output_omitted ? await wholeOutput(client, member) : member;
    const { stdout = "", stderr = "" } = whole ?? {};
    if (!this.#printsLines) {
      return void this.members.push(whole === null ? member : { ...member, stdout, stderr });
    }
    const name = member.agent_name ?? member.agent_id;
    const lines = this.#live.get(member.command_id) ?? new LiveLines(host, member);
    this.#live.delete(member.command_id);
    await lines.end({ stdout, stderr });
    if (member.truncated) await out.note(`${name}: ${CUT}`);
    if (whole === null) await out.note(`${name}: ${DELETED}`);
    if (member.status !== "succeeded") await out.note(`${name}: ${endOf(member)}`);
  }
}

/** Told of a command whose large output cannot be read any more. */
const DELETED = "the agent was deleted, so the rest of its output cannot be read.";

/** The output of a command that is too large for a page; null when its agent was deleted. */
async function wholeOutput(client: Client, { agent_id: id, command_id }: FleetMember) {
  try {
    return await client.call("commands.get", { params: { id, command_id } });
  } catch (error) {
    if (error instanceof RelayError && error.status === 404) return null;
    throw error;
  }
}

const byName = (a: FleetMember, b: FleetMember): number =>
  (a.agent_name ?? "") < (b.agent_name ?? "") ? -1 : 1;

type Status = keyof FleetCommand["counts"];

/** How a command ended that did not succeed. */
function endOf({ status, exit_code, signal, reason }: FleetMember): string {
  if (reason !== null) return `${status}: ${reason}`;
  if (exit_code !== null) return `${status}, exit code ${exit_code}`;
  return signal === null ? status : `${status} (${signal})`;
}

/** How many commands have each status: `200 agents: 198 succeeded, 2 failed.` */
function summaryOf({ total, counts }: FleetCommand): string {
  const some = Object.entries(counts).filter(([, n]) => n! > 0);
  const parts = some.map(([status, n]) => `${n} ${status.replaceAll("_", " ")}`);
  return `${total} ${total === 1 ? "agent" : "agents"}: ${parts.join(", ")}.`;
}

async function cancel(client: Client, id: string): Promise<void> {
  try {
    await client.call("fleet_commands.cancel", { params: { id }, body: {} });
  } catch (error) {
    const hadEnded = error instanceof RelayError && error.code === "CONFLICT";
    if (!hadEnded) throw error;
  }
}
