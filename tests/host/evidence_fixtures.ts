import { strictEqual as eq } from "node:assert/strict";
import { type Account, World } from "../support/world.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { AGENT_RIGHTS, exec } from "../support/linked_agent.ts";

const PATH = "/api/v1/compliance/evidence";

/** An organization with people, keys, commands, a denial and a registered event. */
export async function furnished(world: World): Promise<{ owner: Account; agent: ScriptedAgent }> {
  const owner = await world.signUp();
  const key = await world.key(owner, AGENT_RIGHTS);
  await world.join(owner, ["operator"]);
  const agent = await ScriptedAgent.connect(world, key.value);
  for (const command of ["uptime", "df -h", "rm -rf /"]) await exec(world, { owner, agent }, command);
  const body = { event_type: "deploy.finished", details: { text: "ä€😀" } };
  await world.call("POST", "/api/audit/event", { as: owner.token, body });
  // Checkpoints are signed once a minute.
  await world.advance(61_000);
  return { owner, agent };
}

/** Takes the evidence of a period and writes it to a file; returns the bytes and the log's key. */
export async function take(world: World, as: string, file: string, period = "24h") {
  const response = await world.raw("GET", `${PATH}?period=${period}`, { as });
  const bytes = new Uint8Array(await response.arrayBuffer());
  eq(response.status, 200, new TextDecoder().decode(bytes.subarray(0, 300)));
  await Deno.writeFile(file, bytes);
  const { body } = await world.call("GET", "/api/audit/checkpoint", { as });
  return { bytes, key: body.public_key as string, headers: response.headers };
}
