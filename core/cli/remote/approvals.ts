import { type Approval, type Client, RelayError } from "../../client/client.ts";
import type { Call, Run } from "./command.ts";

const PAGE = 200;

/** `relay approvals ls` */
export const listApprovals: Run = async ({ relay, text, number, out }) => {
  const status = text("status") ?? "pending";
  const answer = await relay().call("approvals.list", {
    query: {
      status: status === "all" ? undefined : status as Approval["status"],
      limit: number("limit"),
      offset: number("offset"),
    },
  });
  const { approvals, pagination } = answer;
  await out.list(
    answer,
    ["ID", "STATUS", "RISK", "AGENT", "REQUESTED BY", "EXPIRES", "COMMAND"],
    approvals.map((approval) =>
      [
        approval.pid,
        approval.status,
        approval.shield_result.risk_score,
        agentOf(approval),
        approval.requested_by,
        approval.expires_at,
        approval.command,
      ] as const
    ),
  );
  if (pagination.has_more) {
    await out.note(`${approvals.length} of ${pagination.total}: use --offset.`);
  }
};

/** `relay approvals show` */
export const showApproval: Run = async (call) => {
  const [pid = ""] = call.args;
  const client = call.relay();
  const approval = await client.call("approvals.get", { params: { pid } });
  const isFleet = approval.agents !== undefined && call.out.format === "table";
  await print(call, approval, isFleet ? await namesOf(client, approval) : undefined);
};

/** The names of the agents that a request covers: those of the commands which it holds, or held. */
async function namesOf(client: Client, { pid, command_id: id }: Approval): Promise<string> {
  const names: string[] = [];
  let cursor: string | undefined;
  do {
    const query = { limit: PAGE, cursor };
    const page = await client.call("fleet_commands.get", { params: { id }, query });
    const held = page.commands.filter(({ approval_id }) => approval_id === pid);
    names.push(...held.map(({ agent_name, agent_id }) => agent_name ?? agent_id));
    cursor = page.cursor ?? undefined;
  } while (cursor !== undefined);
  return names.sort().join(", ");
}

/** `relay approvals approve` */
export const approve: Run = async (call) => {
  try {
    await print(call, await approveOnce(call, false));
  } catch (error) {
    const next = error instanceof RelayError ? error.details.next : undefined;
    if (next === "sign_in") {
      const login = `relay login --url ${call.target().url} --email <address> --password-stdin`;
      await call.out.note(`Sign in first, then approve again: ${login}`);
    }
    if (next !== "confirm" || !confirmsOwn(call)) throw error;
    await print(call, await approveOnce(call, true));
  }
};

const approveOnce = ({ relay, text, args: [pid = ""] }: Call, own: boolean) => {
  const body = { reason: text("reason"), ...(own && { confirm_self_approval: true }) };
  return relay().call("approvals.approve", { params: { pid }, body });
};

/** Whether the only user confirms that they approve their own command. */
function confirmsOwn({ has, host }: Call): boolean {
  if (has("own") || !host.interactive) return has("own");
  const answer = host.ask("This is your own command, and you are the only user. Approve it? [y/N]");
  return /^y(es)?$/i.test(answer?.trim() ?? "");
}

/** `relay approvals reject` */
export const reject: Run = async (call) => {
  const { relay, text, args: [pid = ""] } = call;
  const body = { reason: text("reason") };
  await print(call, await relay().call("approvals.reject", { params: { pid }, body }));
};

const print = ({ out, target }: Call, approval: Approval, agents?: string) => {
  const { shield_result: shield, decisions } = approval;
  return out.item(approval, approval.pid, [
    ["id", approval.pid],
    ["status", approval.status],
    ["command", approval.command],
    ["agent", agentOf(approval)],
    ["agents", agents],
    ["risk", shield.risk_score],
    ["threats", shield.threats.join(", ")],
    ["requested by", approval.requested_by],
    ["may decide", deciders(approval)],
    ["decisions", decisions.map(({ user_id, decision }) => `${user_id} ${decision}`).join(", ")],
    ["reason", approval.reason],
    ["expires", approval.expires_at],
    ["page", pageAt(target().url, approval)],
    ["command id", approval.command_id],
    ["command status", approval.command_status],
  ]);
};

/** The agent of a request, or the number of those of a fleet command. */
const agentOf = ({ agent_id, agents }: Pick<Approval, "agent_id" | "agents">): string =>
  agent_id ?? `${agents?.count} agents`;

/** The address of a request in the console. */
export const pageAt = (url: string, { page }: Pick<Approval, "page">): string =>
  new URL(page, url).href;

/** Who may decide a request, in words. */
export const deciders = ({ required, roles }: Pick<Approval, "required" | "roles">): string => {
  const who = roles.length === 0 ? "with approvals:write" : `with the role ${roles.join(" or ")}`;
  return required === 1 ? `a person ${who}` : `${required} people ${who}`;
};
