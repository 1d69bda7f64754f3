import {
  ACCEPTED,
  decideApproval,
  isTrustedBot,
  makersOf,
  type PoliciesInForce,
  receive,
} from "../../../agents/agents.ts";
import { SYSTEM, type Tenant } from "../../../../kv/store/collection.ts";
import type { IngestTokenRecord } from "../../../../kv/records/ingest.ts";
import { organizations } from "../../../../kv/records/organization.ts";
import {
  type TelegramLinkRecord,
  telegramLinks,
  telegramUpdates,
} from "../../../../kv/records/telegram.ts";
import { users } from "../../../../kv/records/user.ts";
import type { Tx } from "../../../../kv/store/tx.ts";
import type { Stepping } from "../../../work/work.ts";
import { Accepted } from "../../../identity/identity.ts";
import type { Actor } from "../../../identity/identity.ts";
import { ANONYMOUS, homeOf, type People, rightsOf, unite } from "../../../access/access.ts";
import { emit } from "../../../events/events.ts";
import { Fault } from "../../../fault/fault.ts";
import { linkAccount } from "./links.ts";
import { type ChatCommand, type ChatMessage, readUpdate, TelegramBody } from "./update.ts";

/** Longer than Telegram retries an update. */
const UPDATE_KEPT_MS = 3 * 24 * 60 * 60 * 1000;
/** The longest answer to a button that Telegram shows. */
const ALERT_CHARS_MAX = 200;
const RIGHT = "approvals:write";
const ENDPOINT = "POST /api/tg/webhook";
const UNTRUSTED =
  "This bot cannot decide requests, because the user who set it up may no longer approve. " +
  "Use Relay, and ask an administrator to adopt the bot's ingest token.";

/**
 * Executes a chat's command as the person who linked the account. Only requests with the bot's secret get an
 * answer. A repeated update has no effect and gets the first answer again.
 */
export async function receiveTelegram(work: Stepping, policies: PoliciesInForce, body: unknown) {
  const { store, request } = work;
  const received = await receive(work, "telegram", request.telegramSecret, TelegramBody, body);
  const message = received && readUpdate(received.message);
  if (received === null || message === null) return new Accepted(ACCEPTED);
  const { tenant, token } = received;
  const home = homeOf(tenant.org);
  const account = [token.id, message.sender.id];
  // Read before the transaction, because a shared store limits its checks. A link deleted meanwhile still counts.
  const link = await store.find(telegramLinks, home, "account", account);
  const trusted = await isTrustedBot(store, tenant, token.id);
  const text = await store.transact(async (tx) => {
    const asked = { ...work, tx, db: tx };
    return await once(work, tx, tenant, token, message, () => {
      const { command } = message;
      if (!trusted) return Promise.resolve(UNTRUSTED);
      if (command.name === "link") {
        const actor = { ...ANONYMOUS, tenant };
        return linkAccount({ ...asked, actor }, token, message.sender, command.code);
      }
      return decide(asked, policies, tenant, { link, makers: makersOf(token) }, command);
    });
  });
  const { chatId: chat_id, callbackId } = message;
  if (callbackId === null) return { method: "sendMessage" as const, chat_id, text };
  return {
    method: "answerCallbackQuery" as const,
    callback_query_id: callbackId,
    text: [...text].slice(0, ALERT_CHARS_MAX).join(""),
    show_alert: true as const,
  };
}

/** Runs a task for a new update and stores its answer in the same commit; returns the stored answer of a repeated one. */
async function once(
  { ports }: Pick<Stepping, "ports">,
  tx: Tx,
  tenant: Tenant,
  token: IngestTokenRecord,
  { updateId }: ChatMessage,
  task: () => Promise<string>,
): Promise<string> {
  if (updateId === null) return await task();
  const id = `${token.id}.${updateId}`;
  const earlier = await tx.get(telegramUpdates, tenant, id);
  if (earlier !== null) return earlier.answer;
  const answer = await task();
  const expires_at_ms = ports.clock.now() + UPDATE_KEPT_MS;
  tx.put(telegramUpdates, tenant, { id, answer, expires_at_ms });
  return answer;
}

type Asked = Omit<Stepping, "db" | "actor"> & { readonly tx: Tx; readonly db: Tx };

async function decide(
  asked: Asked,
  policies: PoliciesInForce,
  tenant: Tenant,
  { link, makers }: { readonly link: TelegramLinkRecord | null; readonly makers: People },
  { name, pid, reason }: Extract<ChatCommand, { pid: string }>,
): Promise<string> {
  const actor = link && await personOf(asked.tx, tenant, link, makers);
  if (actor === null) {
    return "This account is not linked. Create a code in Relay and send it with /link.";
  }
  if (!actor.rights.has(RIGHT)) {
    emit({ ...asked, actor }, asked.tx, tenant, {
      type: "access_denied",
      resource: { type: "endpoint", id: ENDPOINT },
      details: { required: [RIGHT], endpoint: ENDPOINT },
    });
    return "You may not decide this, because it requires approvals:write.";
  }
  try {
    const approve = name === "approve";
    const { status } = await decideApproval({ ...asked, actor }, policies, pid, {
      approve,
      reason,
    });
    return status === "pending"
      ? `Recorded. ${pid} still needs the approval of another user.`
      : `${pid} is ${status}.`;
  } catch (error) {
    // The rule refuses before it writes, so this transaction contains only the answer.
    if (error instanceof Fault) return error.message;
    throw error;
  }
}

/** The person of a link, with present rights; null once the person or organization is inactive. */
async function personOf(
  tx: Tx,
  tenant: Tenant,
  link: TelegramLinkRecord,
  makers: People,
): Promise<Actor | null> {
  const user = await tx.get(users, homeOf(tenant.org), link.user_id);
  const organization = await tx.get(organizations, SYSTEM, tenant.org);
  if (!user?.active || !organization?.active) return null;
  return {
    kind: "user",
    id: link.id,
    tenant,
    rights: await rightsOf(tx, organization, user.roles),
    userId: user.id,
    alsoOf: unite(makers, link.also_of),
    plan: organization.plan,
    host: organization.host,
    sessionId: null,
    expiresAtMs: Infinity,
    planPerMinute: undefined, // a chat counts against no plan
    planLimits: organization.limits,
    key: null,
  };
}
