import type { Agent } from "../../client/client.ts";
import { confirmed } from "./ask.ts";
import type { Call, Run } from "./command.ts";
import { labelChanges } from "./labels.ts";

/** `relay agents ls` */
export const listAgents: Run = async ({ relay, text, number, has, out }) => {
  const answer = await relay().call("agents.list", {
    query: {
      status: text("status") as Agent["status"] | undefined,
      name: text("name"),
      text: text("text"),
      label: text("label"),
      outdated: has("outdated") ? "true" : undefined,
      limit: number("limit"),
      offset: number("offset"),
    },
  });
  const { agents, pagination } = answer;
  const heading = ["ID", "NAME", "STATUS", "PLATFORM", "VERSION", "LABELS"];
  await out.list(
    answer,
    heading,
    agents.map((agent) =>
      [
        agent.id,
        agent.name,
        agent.status,
        agent.platform,
        versionOf(agent),
        labelsOf(agent),
      ] as const
    ),
  );
  if (pagination.has_more) await out.note(`${agents.length} of ${pagination.total}: use --offset.`);
};

/** `relay agents show` */
export const showAgent: Run = async (call) => {
  const [id = ""] = call.args;
  await print(call, await call.relay().call("agents.get", { params: { id } }));
};

/** `relay agents rm` */
export const removeAgent: Run = async (call) => {
  const { relay, out, args: [id = ""] } = call;
  const client = relay();
  const agent = await client.call("agents.get", { params: { id } });
  const name = `${agent.name} (${agent.id}, ${agent.status})`;
  if (!confirmed(call, `Remove the agent ${name}?`)) return 1;
  await client.call("agents.delete", { params: { id } });
  await out.item(agent, agent.id, [["removed", `${agent.name} (${agent.id})`]]);
};

/** `relay agents restart` */
export const restartAgent: Run = async (call) => {
  const [id = ""] = call.args;
  const agent = await call.relay().call("agents.restart", { params: { id }, body: {} });
  await call.out.item(agent, agent.id, [["restarts", `${agent.name} (${agent.id})`]]);
};

/** `relay agents rename` */
export const renameAgent: Run = async (call) => {
  const [id = "", name] = call.args;
  const agent = await call.relay().call("agents.update", { params: { id }, body: { name } });
  await print(call, agent);
  // Names are unique, so another agent's gets a number.
  if (agent.name !== name) await call.out.note(`The agent is called ${agent.name}.`);
};

/** `relay agents label` */
export const labelAgent: Run = async (call) => {
  const [id = "", ...words] = call.args;
  const body = { labels: labelChanges(words) };
  await print(call, await call.relay().call("agents.update", { params: { id }, body }));
};

const print = ({ out }: Call, agent: Agent) =>
  out.item(agent, agent.id, [
    ["id", agent.id],
    ["name", agent.name],
    ["status", agent.status],
    ["hostname", agent.hostname],
    ["platform", agent.platform],
    ["version", versionOf(agent)],
    ["installed as", agent.program ?? "unknown"],
    ["labels", labelsOf(agent)],
    ["policy", agent.policy_version],
    ["last seen", agent.last_seen_at],
    ["connected", agent.connected_at],
    ["created", agent.created_at],
  ]);

const versionOf = ({ version, outdated }: Agent): string =>
  outdated ? `${version} (outdated)` : version;

const labelsOf = ({ labels }: Agent): string =>
  Object.entries(labels).map(([key, value]) => `${key}=${value}`).join(",");
