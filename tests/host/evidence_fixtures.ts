import { strictEqual as eq } from "node:assert/strict";
import { readStatement, signedTextOf } from "../../core/protocol/protocol.ts";
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
  for (const command of ["uptime", "df -h", "rm -rf /"]) {
    await exec(world, { owner, agent }, command);
  }
  const body = { event_type: "deploy.finished", details: { text: "ä€😀" } };
  await world.call("POST", "/api/audit/event", { as: owner.token, body });
  // Checkpoints are signed once a minute, and the agent signs that it keeps them.
  for (let n = 0; n < 3; n++) {
    agent.send({ type: "heartbeat", status: "ok" });
    await world.advance(20_500);
  }
  const sent = agent.received.filter((frame) => frame.type === "checkpoint").at(-1)!;
  const { size } = readStatement(sent.note)!;
  const signature = agent.sign(signedTextOf(sent.note));
  agent.send({ type: "checkpoint_kept", size, signature });
  await world.settle();
  return { owner, agent };
}

/** Takes the evidence of a period and writes it to a file; returns the bytes and the log's key. */
export async function take(world: World, as: string, file: string, period = "24h") {
  const response = await world.raw("GET", `${PATH}?period=${period}`, { as });
  const bytes = new Uint8Array(await response.arrayBuffer());
  eq(response.status, 200, new TextDecoder().decode(bytes.subarray(0, 300)));
  await Deno.writeFile(file, bytes);
  const { body } = await world.call("GET", "/api/audit/checkpoint", { as });
  const names = placesOf(bytes).map(({ name }) => name).filter((name) => !/^the /.test(name));
  return { bytes, key: body.public_key as string, headers: response.headers, names };
}

/** A range of bytes of an archive, and what verifiers call it. */
interface Place {
  readonly at: number;
  readonly size: number;
  readonly name: string;
}

const BLOCK = 512;

/** Every header, file and end of an archive. */
export function placesOf(bytes: Uint8Array): Place[] {
  const places: Place[] = [];
  let at = 0, before = "the start";
  const text = (from: number, size: number) =>
    new TextDecoder().decode(bytes.subarray(from, from + size)).split("\0")[0]!;
  while (bytes[at] !== 0) {
    const name = text(at, 100), size = parseInt(text(at + 124, 12), 8);
    places.push({ at, size: BLOCK, name: `the header after ${before}` });
    const filled = Math.ceil(size / BLOCK) * BLOCK;
    if (filled > 0) places.push({ at: at + BLOCK, size: filled, name });
    at += BLOCK + filled;
    before = name;
  }
  places.push({ at, size: BLOCK, name: `the header after ${before}` });
  places.push({ at: at + BLOCK, size: BLOCK, name: "the end" });
  return places;
}

/** What docs/verify.py names in an archive; null for a whole one. */
export async function python(file: string, key: string): Promise<string | null> {
  const args = ["docs/verify.py", file, key];
  const { success, stderr } = await new Deno.Command("python3", { args }).output();
  if (success) return null;
  const said = new TextDecoder().decode(stderr);
  const [, named] = /^INVALID: ([^:]+):/.exec(said) ?? [];
  if (named === undefined) throw new Error(said);
  return named;
}
