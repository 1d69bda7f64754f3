import type { Client, Upgrade } from "../../client/client.ts";
import { UsageError } from "../arguments.ts";
import type { Call, Run } from "./command.ts";
import { labelsFrom } from "./labels.ts";

const INTERRUPTED = 130;
const POLL_MS = 1_000;

type AgentState = Upgrade["agents"][number];

/** `relay agents upgrade` */
export const upgradeAgents: Run = async (call) => {
  const { relay, number, out, host } = call;
  const chosen = chosenAgents(call);
  const interrupted = new AbortController();
  const forget = host.onInterrupt(() => interrupted.abort());
  try {
    const client = relay();
    const started = await client.call("agent_upgrades.start", {
      body: { ...chosen, stop_after_failures: number("stop-after") ?? 1 },
    });
    for (const { name, reason } of started.skipped) {
      await out.note(`${name} is not upgraded: ${reason}.`);
    }
    const upgrade = started.upgrade === null
      ? null
      : await untilEnded(call, client, started.upgrade, interrupted.signal);
    await out.list(
      { ...started, upgrade },
      ["ID", "NAME", "STATUS", "FROM", "TO", "WHY"],
      (upgrade?.agents ?? []).map(({ agent_id, name, status, previous_version, error }) =>
        [agent_id, name, status, previous_version, upgrade!.version, error] as const
      ),
    );
    if (started.remaining > 0) await out.note(`${started.remaining} agents remain: run it again.`);
    if (interrupted.signal.aborted) return INTERRUPTED;
    const unable = started.skipped.some(({ current }) => !current);
    const failed = upgrade?.agents.some(({ status }) => status !== "complete") ?? false;
    return unable || failed ? 1 : 0;
  } finally {
    forget();
  }
};

/** The agents of the arguments. @throws {UsageError} unless they are chosen in exactly one way */
function chosenAgents({ args, list, has }: Call) {
  const ways = [
    ...args.length > 0 ? [{ names: [...args] }] : [],
    ...list("label").length > 0 ? [{ labels: labelsFrom(list("label")) }] : [],
    ...has("all") ? [{ all: true as const }] : [],
  ];
  const [way, other] = ways;
  if (way !== undefined && other === undefined) return way;
  throw new UsageError("Choose agents by name, by --label, or --all.");
}

/** The upgrade after its end. An interruption stops it, and does not wait for agents that are being upgraded. */
async function untilEnded(
  { out, host }: Call,
  client: Client,
  begun: Upgrade,
  interrupted: AbortSignal,
): Promise<Upgrade> {
  const params = { id: begun.id };
  const told = new Map<string, AgentState["status"]>();
  for (let upgrade = begun;; upgrade = await client.call("agent_upgrades.get", { params })) {
    for (const agent of upgrade.agents) {
      const { agent_id, status } = agent;
      if (status === "waiting" || told.get(agent_id) === status) continue;
      told.set(agent_id, status);
      await out.note(progressLine(upgrade, agent));
    }
    if (upgrade.status !== "running") return upgrade;
    await host.sleep(POLL_MS, interrupted);
    if (!interrupted.aborted) continue;
    await out.note("Stopping. Agents that are being upgraded go on.");
    return await client.call("agent_upgrades.cancel", { params, body: {} });
  }
}

function progressLine({ version }: Upgrade, { agent_id, name, status, error }: AgentState) {
  const agent = name ?? agent_id;
  switch (status) {
    case "complete":
      return `${agent} has version ${version}.`;
    case "failed":
      return `${agent} keeps its program: ${error}.`;
    case "deleted":
      return `${agent} was deleted.`;
    default:
      return `${agent} is being upgraded …`;
  }
}
