import {
  type Client,
  type FleetCommand,
  type FleetMember,
  RelayError,
} from "../../client/client.ts";
import { UsageError } from "../arguments.ts";
import type { Call, Run } from "./command.ts";
import { CUT, exec, shellLine } from "./exec.ts";
import { labelsFrom } from "./labels.ts";

const HELD = 126;
const INTERRUPTED = 130;
/** The answer to the start may wait for the end for this long; short commands need no further look. */
const FIRST_WAIT_SECONDS = 1;
const POLL_MS = 100;
const POLL_MS_MAX = 2_000;
/** How long a cancelled fleet command is watched. */
const CANCEL_MS = 10_000;
const PAGE = 200;
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
  const forget = host.onInterrupt(() => interrupted.abort());
  try {
    const client = call.relay();
    const begun = await client.call("fleet_commands.start", { body: bodyOf(call) });
    const watch = new Watch(call, client, begun);
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
  #waits = false;

  constructor(
    private readonly call: Call,
    private readonly client: Client,
    private fleet: FleetCommand,
  ) {}

  /** Tells which requests hold commands back, and whether to wait for them. */
  async tellHeld(): Promise<void> {
    const { fleet: { approvals, counts }, call: { has, host, out } } = this;
    if (!counts.pending_approval) return;
    const whose = `${counts.pending_approval} of ${this.fleet.total} agents`;
    await out.note(`Held for approval on ${whose}. A person with approvals:write may decide:`);
    for (const pid of approvals) await out.note(`  relay approvals approve ${pid}`);
    if (has("wait")) this.#waits = true;
    else if (host.interactive) {
      const answer = host.ask("Wait for the decision? [Y/n]");
      this.#waits = !/^n/i.test(answer?.trim() ?? "n");
    }
  }

  /** Resolves when all commands have ended, or only held ones are left and nobody waits for those. */
  async untilEnded(interrupted: AbortSignal): Promise<FleetCommand> {
    const { call: { host, out }, client } = this;
    const params = { id: this.fleet.id };
    let cancelledMs: number | null = null;
    for (let ms = POLL_MS;; ms = Math.min(ms * 2, POLL_MS_MAX)) {
      await this.#printEnded();
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

  #onlyHeld(): boolean {
    const { counts } = this.fleet;
    const { pending_approval: held = 0 } = counts;
    return !this.#waits && held > 0 && this.#seen.size + held === this.fleet.total;
  }

  async #printEnded(): Promise<void> {
    const { client, fleet: { id, counts } } = this;
    const ended = ENDED.split(",").reduce((sum, name) => sum + counts[name as Status]!, 0);
    if (ended === this.#seen.size) return;
    let cursor: string | undefined;
    do {
      const query = { output: "true", status: ENDED, limit: PAGE, cursor } as const;
      const page = await client.call("fleet_commands.get", { params: { id }, query });
      cursor = page.cursor ?? undefined;
      for (const member of [...page.commands].sort(byName)) {
        if (this.#seen.has(member.command_id)) continue;
        this.#seen.add(member.command_id);
        await this.#print(member);
      }
    } while (cursor !== undefined);
  }

  async #print(member: FleetMember): Promise<void> {
    const { call: { host, out }, client } = this;
    const params = { id: member.agent_id, command_id: member.command_id };
    const { stdout = "", stderr = "" } = member.output_omitted
      ? await client.call("commands.get", { params })
      : member;
    if (out.format !== "table" || this.call.has("quiet")) {
      this.members.push({ ...member, stdout, stderr });
      return;
    }
    const name = member.agent_name ?? member.agent_id;
    await host.write(prefixed(name, stdout));
    await host.writeError(prefixed(name, stderr));
    if (member.truncated) await out.note(`${name}: ${CUT}`);
    if (member.status !== "succeeded") await out.note(`${name}: ${endOf(member)}`);
  }
}

const byName = (a: FleetMember, b: FleetMember): number =>
  (a.agent_name ?? "") < (b.agent_name ?? "") ? -1 : 1;

type Status = keyof FleetCommand["counts"];

/** Each line behind the agent's name. */
function prefixed(name: string, text: string): string {
  if (text === "") return "";
  return text.replace(/\n$/, "").split("\n").map((line) => `${name}: ${line}\n`).join("");
}

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
