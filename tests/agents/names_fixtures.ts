import { strictEqual as eq } from "node:assert/strict";
import type { Account, World } from "../support/world.ts";

/** Pairs a machine by an own code; `confirms` is false for one that never confirms. */
export async function pairMachine(
  world: World,
  { token }: Account,
  device_name: string,
  confirms = true,
) {
  const made = await world.call("POST", "/api/devices/pairing-codes", { as: token });
  eq(made.status, 201, made.text);
  const { pairing_code } = made.body;
  const { status, text, body } = await world.call("POST", "/api/devices/pair", {
    body: { device_name, pairing_code },
  });
  eq(status, 201, text);
  if (!confirms) return { body, credential: "" };
  const { device_id, token: confirmation } = body;
  const confirmed = await world.call("POST", "/api/devices/confirm", {
    body: { device_id, token: confirmation },
  });
  eq(confirmed.status, 200, confirmed.text);
  eq(confirmed.body.device.agent_name, body.agent_name);
  return { body, credential: confirmed.body.credential as string };
}

/** An agent by its id or its name. */
export async function show(world: World, { token }: Account, agent: string) {
  const { status, text, body } = await world.call("GET", `/api/v1/agents/${agent}`, { as: token });
  eq(status, 200, text);
  return body;
}

export async function rename(world: World, { token }: Account, agent: string, name: string) {
  const answer = await world.call("PATCH", `/api/v1/agents/${agent}`, {
    as: token,
    body: { name },
  });
  eq(answer.status, 200, answer.text);
  return answer;
}
