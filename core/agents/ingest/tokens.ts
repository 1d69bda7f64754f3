import { hash } from "node:crypto";
import {
  type IngestPurpose,
  type IngestTokenRecord,
  ingestTokens,
} from "../../../kv/records/ingest.ts";
import type { Found } from "../../../kv/store/reader.ts";
import type { Store } from "../../../kv/store/store.ts";
import {
  adopt,
  credentialInHand,
  endingWith,
  giverOf,
  isChecked,
  madeKind,
  makeCheckedText,
  mustCover,
  mustHoldNewValue,
  peopleBehind,
  showStanding,
  unite,
  without,
} from "../../access/access.ts";
import type { Entropy } from "../../ports/ports.ts";
import type { Work, Writing } from "../../work/work.ts";
import { Fault } from "../../fault/fault.ts";
import { listPage, type Paging } from "../../../kv/store/paging.ts";
import { iso } from "../../codec/codec.ts";
import { INGEST_TOKEN } from "./standing.ts";
import { rememberDeletedBot } from "./bot_makers.ts";

const PREFIX = "svc_ingest_";
/** Enough characters to tell tokens apart, too few to guess one. */
const SHOWN_CHARS = 4;
const TOKENS_MAX = 100;

/**
 * Makes a token; only this answer shows its value. The secret of a chat's bot can decide for everybody who linked
 * an account, so only people who may approve make one.
 * @throws {Fault} FORBIDDEN, INSUFFICIENT_SCOPES, CONFLICT
 */
export async function createIngestToken(
  work: Writing,
  { name, purpose }: { name: string; purpose: IngestPurpose },
) {
  const { actor, ports: { clock, entropy }, tx } = work;
  mustHoldNewValue(actor);
  const { rights } = await giverOf(work);
  if (purpose === "telegram") {
    mustCover(rights, ["approvals:write"], "Only users who may approve can set up a chat bot.");
  }
  if (await tx.count(ingestTokens, actor.tenant) >= TOKENS_MAX) {
    throw new Fault("CONFLICT", `There are already ${TOKENS_MAX} ingest tokens. Delete one first.`);
  }
  const { token, ...kept } = newValue(entropy);
  const record = tx.insert(ingestTokens, actor.tenant, {
    id: entropy.id("itk"),
    name,
    purpose,
    ...kept,
    created_by: actor.userId,
    created_with: await credentialInHand(work),
    also_of: without(await peopleBehind(tx, actor), actor.userId),
    created_at_ms: clock.now(),
  });
  return { ...await showToken(work, record), token };
}

/** A new value, and what the record keeps of it. */
function newValue(entropy: Entropy) {
  const token = makeCheckedText(PREFIX, entropy);
  const masked = `${token.slice(0, PREFIX.length + SHOWN_CHARS)}…`;
  return { token, hash: hash("sha256", token), masked };
}

/**
 * Takes over a suspended token. It gets a new value, which only this answer shows: the person for whom it acted
 * knows the old one.
 * @throws {Fault} NOT_FOUND, INSUFFICIENT_SCOPES, FORBIDDEN, CONFLICT
 */
export async function adoptIngestToken(work: Writing, id: string) {
  const { token, ...kept } = newValue(work.ports.entropy);
  const people = await peopleBehind(work.tx, work.actor);
  const record = await adopt(work, INGEST_TOKEN, id, (found) => {
    const also_of = without(unite(found.also_of, people), found.created_by);
    return { ...found, ...kept, also_of };
  });
  return { ...await showToken(work, record), token };
}

/** The organization's tokens, oldest first. */
export async function listIngestTokens(work: Work, paging: Paging) {
  const { db, actor } = work;
  const { items, pagination } = await listPage(db, ingestTokens, actor.tenant, paging);
  const shown = await Promise.all(items.map((token) => showToken(work, token)));
  return { ingest_tokens: shown, pagination };
}

/** Ends a token before this answers. @throws {Fault} FORBIDDEN, NOT_FOUND */
export async function deleteIngestToken({ actor, ports, tx }: Writing, id: string) {
  mustHoldNewValue(actor);
  const token = await tx.get(ingestTokens, actor.tenant, id);
  if (token === null) throw new Fault("NOT_FOUND", "There is no such ingest token.");
  tx.delete(ingestTokens, actor.tenant, id);
  rememberDeletedBot(tx, actor.tenant, token, ports.clock.now());
  return { id, name: token.name, purpose: token.purpose };
}

/** The token of this value, or null; a token serves only its own purpose. */
export async function findIngestToken(
  { store }: { readonly store: Store },
  value: string | null,
  purpose: IngestPurpose,
): Promise<Found<IngestTokenRecord> | null> {
  if (value === null || !value.startsWith(PREFIX) || !isChecked(value)) return null;
  const found = await store.lookup(ingestTokens, "hash", [hash("sha256", value)]);
  return found?.record.purpose === purpose ? found : null;
}

const showToken = async (
  { db, actor }: Pick<Work, "db" | "actor">,
  token: IngestTokenRecord,
) => ({
  id: token.id,
  name: token.name,
  purpose: token.purpose,
  prefix: token.masked,
  ...await showStanding(db, actor.tenant, INGEST_TOKEN, token),
  created_by: token.created_by,
  created_with: token.created_with,
  created_at: iso(token.created_at_ms),
});

/** Ingest tokens, as a cascade from the key that made them ends them. */
export const MADE_INGEST_TOKENS = madeKind({
  of: ingestTokens,
  right: "system:write",
  end: endingWith(
    "ingest_token_deleted",
    "ingest_token",
    deleteIngestToken,
    ({ name, purpose }) => ({ name, purpose }),
  ),
});
