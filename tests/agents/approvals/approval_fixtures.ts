import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import type { Account, World } from "../../support/world.ts";
import { exec, linkAgent, type Linked, runsOf } from "../../support/linked_agent.ts";

const RISKY = "systemctl stop nginx";
/** A Telegram account. */
const ACCOUNT = 5_123_456_789;

/** An organization whose administrators may try to approve each other's requests. */
export interface Here extends Linked {
  /** The person who asks for a command and tries to approve it. */
  readonly admin: Account;
  readonly colleague: Account;
}

/** Sets the number of people who must approve. */
export async function setUp(world: World, required = 1): Promise<Here> {
  await world.signUp(); // the host, whose administrators change no keys
  const here = await linkAgent(world);
  const admin = await world.join(here.owner, ["admin"]);
  const colleague = await world.join(here.owner, ["admin"]);
  const body = { approvals: { required } };
  await world.call("PATCH", "/api/shield/settings", { as: here.owner.token, body });
  return { ...here, admin, colleague };
}

/** Starts a command that waits for approval; returns its process id. */
export async function waiting(world: World, here: Linked, as: string): Promise<string> {
  const { status, body } = await exec(world, here, RISKY, { as });
  eq(status, 202);
  return body.approval_id;
}

export const approve = (world: World, pid: string, as: string) =>
  world.call("POST", `/api/shield/approve/${pid}`, { as, body: {} });

/** Asserts that an approval was refused and wrote nothing. */
export async function refused(world: World, here: Here, pid: string, as: string): Promise<void> {
  const { status, body } = await approve(world, pid, as);
  deq([status, body.error.code], [403, "FORBIDDEN"]);
  const path = `/api/shield/approvals/${pid}`;
  const { body: stored } = await world.call("GET", path, { as: here.owner.token });
  await world.settle();
  deq([stored.status, stored.decisions, runsOf(here.agent)], ["pending", [], []]);
}

/** The answer of the bot of this secret. */
export const says = (world: World, secret: string, message: string) =>
  world.call("POST", "/api/tg/webhook", {
    body: { chat_id: ACCOUNT, message },
    headers: { "x-telegram-bot-api-secret-token": secret },
  });

/** Links a person's chat through a bot. */
export async function link(world: World, who: Account, secret: string): Promise<void> {
  const path = "/api/shield/telegram-links";
  const { body } = await world.call("POST", path, { as: who.token });
  await says(world, secret, body.message);
}
