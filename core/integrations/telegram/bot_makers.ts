import type { Tenant } from "../../../kv/store/collection.ts";
import { type IngestTokenRecord, ingestTokens } from "../../../kv/records/ingest.ts";
import { goneBots } from "../../../kv/records/telegram.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import { everybody, type People, unite } from "../../access/keys/also_of.ts";
import type { App } from "../../work/work.ts";
import { homeOf } from "../../access/roles/grant.ts";

/** How long a code that links an account works, and so how long a bot that is gone may have been shown it. */
export const CODE_TTL_MS = 10 * 60 * 1000;
/** More ingest tokens than both spaces of an organization have, and more than anybody deletes in that time. */
const READ_MAX = 200;

/** Who may speak through a bot as anybody who linked an account: those who may know its secret. */
export const makersOf = ({ created_by, also_of }: IngestTokenRecord): People => [
  created_by,
  ...also_of,
];

/** The makers of an organization's bots: a code that is sent to one of them may be used at another. */
export async function botMakers(db: Reader, org: string): Promise<People> {
  const spaces = (["live", "test"] as const).map((space) =>
    db.list(ingestTokens, { org, space }, { limit: READ_MAX })
  );
  const tokens = (await Promise.all(spaces)).flatMap(({ items }) => items);
  return unite(...tokens.filter(({ purpose }) => purpose === "telegram").map(makersOf));
}

/** Remembers who made a bot that goes, for as long as a code works that it may have been shown. */
export function rememberGone(
  { ports: { clock } }: App,
  tx: Tx,
  { org }: Tenant,
  token: IngestTokenRecord,
): void {
  if (token.purpose !== "telegram") return;
  const gone_at_ms = clock.now();
  const expires_at_ms = gone_at_ms + CODE_TTL_MS;
  tx.put(goneBots, homeOf(org), {
    id: token.id,
    makers: [...makersOf(token)],
    gone_at_ms,
    expires_at_ms,
  });
}

/** The makers of bots that are gone since an instant; everybody when there are too many to read. */
export async function goneMakers(db: Reader, org: string, sinceMs: number): Promise<People> {
  const { items, cursor } = await db.list(goneBots, homeOf(org), { limit: READ_MAX });
  if (cursor !== null) return everybody();
  const since = items.filter(({ gone_at_ms }) => gone_at_ms >= sinceMs);
  return unite(...since.map(({ makers }) => makers));
}
