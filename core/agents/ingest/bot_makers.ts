import type { Tenant } from "../../../kv/store/collection.ts";
import { type IngestTokenRecord, ingestTokens } from "../../../kv/records/ingest.ts";
import { deletedBots } from "../../../kv/records/telegram.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import { everybody, homeOf, type People, suspensionOf, unite } from "../../access/access.ts";
import { INGEST_TOKEN } from "./standing.ts";

/** Lifetime of a code that links an account, and so how long the makers of a deleted bot are remembered. */
export const CODE_TTL_MS = 10 * 60 * 1000;
/** Exceeds the ingest tokens of both spaces, and what anybody deletes within a code's lifetime. */
const READ_MAX = 200;

/** The people who may know a bot's secret, and so may speak as anybody who linked an account. */
export const makersOf = ({ created_by, also_of }: IngestTokenRecord): People => [
  created_by,
  ...also_of,
];

/** The makers of all of an organization's bots: a code sent to one bot may be used at another. */
export async function botMakers(db: Reader, org: string): Promise<People> {
  const spaces = (["live", "test"] as const).map((space) =>
    db.list(ingestTokens, { org, space }, { limit: READ_MAX })
  );
  const tokens = (await Promise.all(spaces)).flatMap(({ items }) => items);
  return unite(...tokens.filter(({ purpose }) => purpose === "telegram").map(makersOf));
}

/** Remembers the makers of a deleted bot for as long as a code that it saw may still work. */
export function rememberDeletedBot(
  tx: Tx,
  { org }: Tenant,
  token: IngestTokenRecord,
  nowMs: number,
): void {
  if (token.purpose !== "telegram") return;
  tx.put(deletedBots, homeOf(org), {
    id: token.id,
    makers: [...makersOf(token)],
    gone_at_ms: nowMs,
    expires_at_ms: nowMs + CODE_TTL_MS,
  });
}

/** The makers of bots deleted since an instant; everybody when there are too many to read. */
export async function deletedBotMakers(db: Reader, org: string, sinceMs: number): Promise<People> {
  const { items, cursor } = await db.list(deletedBots, homeOf(org), { limit: READ_MAX });
  if (cursor !== null) return everybody();
  const since = items.filter(({ gone_at_ms }) => gone_at_ms >= sinceMs);
  return unite(...since.map(({ makers }) => makers));
}

/**
 * Whether messages of a bot count. The person for whom its token acts knows the secret and could speak for
 * everybody who linked an account, so that person must have the right to approve.
 */
export async function isTrustedBot(db: Reader, tenant: Tenant, tokenId: string): Promise<boolean> {
  const token = await db.get(ingestTokens, tenant, tokenId);
  return token !== null && await suspensionOf(db, tenant, INGEST_TOKEN, token) === null;
}
