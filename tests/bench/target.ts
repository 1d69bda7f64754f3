import { signUp, type Tenant, untilOffline } from "./client.ts";
import { V8_FLAGS } from "../../core/cli/program.ts";
import { ROOT, start } from "./parts.ts";

/** A relay with one organization and an agent that answers. */
export interface Loaded extends Tenant {
  readonly base: string;
  readonly port: number;
  readonly pid: number;
}

/** Such a relay, and a bare server to compare with. */
export interface Target extends Loaded {
  readonly barePort: number;
}

/** Starts both. */
export async function openTarget(): Promise<Target> {
  const bare = await start<{ port: number }>("bare_http.ts");
  return { ...await openRelay(ROOT), barePort: bare.ready.port };
}

/** Starts the relay of the repository at `root`, with these flags of V8. */
export async function openRelay(root: string, flags = V8_FLAGS): Promise<Loaded> {
  const script = `${root}tests/bench/relay.ts`;
  const { ready: { port }, child } = await start<{ port: number }>(
    script,
    [],
    {},
    `${root}deno.json`,
    "null",
    flags,
  );
  const base = `http://127.0.0.1:${port}`;
  return { base, port, pid: child.pid, ...await withAgent(base, 0) };
}

/** An organization whose agent answers at once. */
export async function withAgent(base: string, n: number): Promise<Tenant> {
  const account = await signUp(base, n);
  const agent = await start<{ ids: string[] }>("echo_agent.ts", [base, account.key]);
  const agentId = agent.ready.ids[0]!;
  if (n > 0) {
    agent.child.kill("SIGINT"); // its record stays
    await untilOffline(base, account.token, agentId);
  }
  return { ...account, agentId };
}
