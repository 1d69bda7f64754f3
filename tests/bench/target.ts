import { signUp, type Tenant, untilOffline } from "./client.ts";
import { start } from "./parts.ts";

/** A relay with one organization and an agent that answers, and a bare server to compare with. */
export interface Target extends Tenant {
  readonly base: string;
  readonly port: number;
  readonly pid: number;
  readonly barePort: number;
}

/** Starts both. */
export async function openTarget(): Promise<Target> {
  const bare = await start<{ port: number }>("bare_http.ts");
  const relay = await start<{ port: number }>("relay.ts");
  const { port } = relay.ready;
  const base = `http://127.0.0.1:${port}`;
  const tenant = await withAgent(base, 0);
  return { base, port, pid: relay.child.pid, barePort: bare.ready.port, ...tenant };
}

/** An organization whose agent answers at once. */
export async function withAgent(base: string, n: number): Promise<Tenant> {
  const account = await signUp(base, n);
  const agent = await start<{ ids: string[] }>("echo_agent.ts", [base, account.key]);
  const agentId = agent.ready.ids[0]!;
  if (n > 0) {
    agent.child.kill("SIGTERM"); // its record stays
    await untilOffline(base, account.token, agentId);
  }
  return { ...account, agentId };
}
