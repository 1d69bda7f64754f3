import {
  type IngestPurpose,
  type IngestTokenRecord,
  ingestTokens,
} from "../../kv/records/ingest.ts";
import type { Found } from "../../kv/store.ts";
import { mustCover, mustHoldNewValue } from "../api_keys/owned.ts";
import type { App, Work, Writing } from "../app.ts";
import { Fault } from "../fault.ts";
import { isChecked, makeCheckedText } from "../key_value.ts";
import { iso, listPage, type Paging } from "../lists.ts";
import { giverOf } from "../roles/grant.ts";
import { sha256Hex } from "../text.ts";

const PREFIX = "svc_ingest_";
/** Four characters tell tokens apart and help nobody guess one. */
const SHOWN_CHARS = 4;
const TOKENS_MAX = 100;

/**
 * Makes a token; its value is in this answer and in no other. Whoever has that of a chat's bot can speak for
 * everybody who decides there, so it is for those who may decide.
 * @throws {Fault} FORBIDDEN, INSUFFICIENT_SCOPES, CONFLICT
 */
export async function createIngestToken(
  work: Writing,
  { name, purpose }: { name: string; purpose: IngestPurpose },
) {
  const { app, actor, tx } = work;
  const { rights } = await giverOf(work);
  if (purpose === "telegram") {
    mustCover(rights, ["approvals:write"], "A chat's bot is set up by who may approve.");
  }
  if (await tx.count(ingestTokens, actor.tenant) >= TOKENS_MAX) {
    throw new Fault("CONFLICT", `There are ${TOKENS_MAX} ingest tokens already. Delete one first.`);
  }
  const { clock, entropy } = app.ports;
  const token = makeCheckedText(PREFIX, entropy);
  const record = tx.insert(ingestTokens, actor.tenant, {
    id: entropy.id("itk"),
    name,
    purpose,
    hash: sha256Hex(token),
    masked: `${token.slice(0, PREFIX.length + SHOWN_CHARS)}…`,
    created_by: actor.userId,
    created_at_ms: clock.now(),
  });
  return { ...showToken(record), token };
}

/** The organization's tokens, oldest first. */
export async function listIngestTokens({ db, actor }: Work, paging: Paging) {
  const { items, pagination } = await listPage(db, ingestTokens, actor.tenant, paging);
  return { ingest_tokens: items.map(showToken), pagination };
}

/** Ends a token before this answers. @throws {Fault} FORBIDDEN, NOT_FOUND */
export async function deleteIngestToken({ actor, tx }: Writing, id: string) {
  mustHoldNewValue(actor);
  const token = await tx.get(ingestTokens, actor.tenant, id);
  if (token === null) throw new Fault("NOT_FOUND", "There is no such ingest token.");
  tx.delete(ingestTokens, actor.tenant, id);
  return { id, name: token.name, purpose: token.purpose };
}

/** Whose token this value is, or null; a token serves its own purpose alone. */
export async function findIngestToken(
  { store }: App,
  value: string | null,
  purpose: IngestPurpose,
): Promise<Found<IngestTokenRecord> | null> {
  if (value === null || !value.startsWith(PREFIX) || !isChecked(value)) return null;
  const found = await store.lookup(ingestTokens, "hash", [sha256Hex(value)]);
  return found?.record.purpose === purpose ? found : null;
}

function showToken({ id, name, purpose, masked, created_by, created_at_ms }: IngestTokenRecord) {
  return { id, name, purpose, prefix: masked, created_by, created_at: iso(created_at_ms) };
}
