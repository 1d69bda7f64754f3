import {
  type Answer,
  type Client,
  expectStatus,
  UnreachedError,
} from "../clients/status_client.ts";
import type { Program } from "../../core/cli/program.ts";
import type { Ledger } from "./ledger.ts";

/** What the callers of one organization need. */
export interface Caller {
  readonly client: Client;
  readonly agentId: string;
  readonly counterFile: string;
  readonly ledger: Ledger;
}

/** What the callers of one round need. */
interface Round extends Caller {
  readonly relay: Program;
  /** The relay is killed at this acknowledgement. */
  readonly killAt: number;
}

export type Step = (caller: Caller, note: Note) => Promise<void>;
/** Counts an acknowledged request and gives its body. */
export type Note = <Body>(answer: Answer<Body>, status: number, what: string) => Body;

/** Callers at work at once, all with the same API key. */
export const CALLERS: readonly Step[] = [
  exec,
  exec,
  exec,
  start,
  event,
  event,
  event,
  changeKeys,
  changeOthers,
];

/** Runs all callers until the relay is killed among them; answers how much was acknowledged. */
export async function loadUntilKilled(round: Round): Promise<number> {
  const { ledger, relay, killAt } = round;
  let acknowledged = 0;
  let death: Promise<void> | null = null;
  const note: Note = (answer, status, what) => {
    const body = expectStatus(answer, status, what);
    ledger.requests.push(answer.requestId);
    if (++acknowledged === killAt) death = relay.kill();
    return body;
  };
  await Promise.all(CALLERS.map(async (step) => {
    while (death === null) {
      try {
        await step(round, note);
      } catch (error) {
        // A broken connection is what a crash looks like; an answer must still be the right one.
        if (death === null || !(error instanceof UnreachedError)) throw error;
      }
    }
  }));
  await death;
  return acknowledged;
}

export const appendTo = (file: string, mark: string) => `echo ${mark} >> ${file}`;

export async function exec(
  { client, agentId, counterFile, ledger }: Caller,
  note: Note,
): Promise<void> {
  const mark = ledger.nextMark();
  const query = new URLSearchParams({ command: appendTo(counterFile, mark) });
  const answer = await client<{ command_id: string; status: string }>(
    "GET",
    `/api/exec/${agentId}?${query}`,
  );
  const { command_id, status } = note(answer, 200, "exec");
  if (status !== "succeeded") throw new Error(`${command_id} is ${status}`);
  ledger.succeeded.set(command_id, mark);
}

export async function start(
  { client, agentId, counterFile, ledger }: Caller,
  note: Note,
): Promise<void> {
  const mark = ledger.nextMark();
  const answer = await client<{ command_id: string }>(
    "POST",
    `/api/v1/agents/${agentId}/commands`,
    { command: appendTo(counterFile, mark) },
  );
  ledger.accepted.set(note(answer, 202, "starting a command").command_id, mark);
}

export async function event({ client, ledger }: Caller, note: Note): Promise<void> {
  const body = { event_type: "deployed", details: { mark: ledger.nextMark() } };
  const answer = await client<{ event_id: string }>("POST", "/api/audit/event", body);
  ledger.events.push(note(answer, 201, "registering an event").event_id);
}

async function changeKeys({ client, ledger }: Caller, note: Note): Promise<void> {
  const body = { name: "k", scopes: ["audit:read"] };
  const made = await client<{ id: string }>("POST", "/api/v1/api-keys", body);
  const { id } = note(made, 201, "making a key");
  ledger.keys.set(id, "unknown");
  note(await client("POST", `/api/v1/api-keys/${id}/revoke`), 200, "revoking a key");
  ledger.keys.set(id, "revoked");
}

/** Other records, and what one is made with. */
const OTHERS: Readonly<Record<string, (name: string) => unknown>> = {
  "/api/v1/roles": (name) => ({ name, permissions: ["agents:read"] }),
  "/api/v1/webhooks": (name) => ({
    name,
    url: "https://hooks.example.com/",
    secret: "a secret of the receiver's",
    events: ["agent_deleted"],
  }),
};

/** Makes one of each, and deletes the one before it. */
export async function changeOthers({ client, ledger }: Caller, note: Note): Promise<void> {
  const { others } = ledger;
  for (const [path, bodyOf] of Object.entries(OTHERS)) {
    const before = [...others].find(([one, state]) => state === "there" && one.startsWith(path));
    const body = bodyOf(ledger.nextMark());
    const made = await client<{ id?: string; name: string }>("POST", path, body);
    const { id, name } = note(made, 201, `making one of ${path}`);
    others.set(`${path}/${id ?? name}`, "there");
    if (before === undefined) continue;
    others.set(before[0], "unknown");
    note(await client("DELETE", before[0]), 204, `deleting ${before[0]}`);
    others.set(before[0], "gone");
  }
}
