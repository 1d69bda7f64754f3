import type { Tenant } from "../../../kv/store/collection.ts";
import { checkpoints, placeId } from "../../../kv/records/audit.ts";
import { agents } from "../../../kv/records/agent.ts";
import { everyListed } from "../../../kv/store/iterate.ts";
import { newestFirst } from "../../../kv/store/newest_first.ts";
import type { ReportNeeds } from "../compliance/scan.ts";
import { consistencyPath, type ReadNode, readStatement } from "../../protocol/protocol.ts";

/** Checkpoints of one archive, spread over the rows of its period. */
const CHECKPOINTS_MAX = 100;
/** Agents of one archive. */
const AGENTS_MAX = 10_000;
const PAGE = 500;

/** An agent, whose key proves its receipts and its checkpoint. */
export interface Witness {
  readonly id: string;
  readonly name: string;
  /** Its Ed25519 key, base64url. */
  readonly public_key: string;
  /** The newest checkpoint that it signed as a witness; null for none. */
  readonly note: string | null;
}

/** The agents of an organization. */
export async function witnessesOf(
  { store }: Pick<ReportNeeds, "store">,
  tenant: Tenant,
): Promise<Witness[]> {
  const found: Witness[] = [];
  for await (const agent of everyListed(store, agents, tenant, { limit: PAGE })) {
    if (found.length === AGENTS_MAX) break;
    const { id, name, public_key, witnessed } = agent;
    found.push({ id, name, public_key, note: witnessed?.note ?? null });
  }
  return found;
}

/** Checkpoints that were signed while a log grew from `start` to `end` rows, oldest first. */
export async function checkpointsBetween(
  { store }: Pick<ReportNeeds, "store">,
  tenant: Tenant,
  { start, end }: { readonly start: number; readonly end: number },
): Promise<string[]> {
  const notes: string[] = [];
  let from = start + 1;
  for (let n = 1; n <= CHECKPOINTS_MAX; n++) {
    const to = start + Math.ceil((end - start) * n / CHECKPOINTS_MAX);
    const range = { from: placeId(from), before: placeId(to + 1) };
    for await (const { note } of newestFirst(store, checkpoints, tenant, range)) {
      notes.push(note);
      break;
    }
    from = to + 1;
  }
  return notes;
}

/** Proves of a note that the log of `size` rows begins with the note's: `path` holds hashes in base64. */
export const growthTo = (read: ReadNode, size: number) => async (note: string) => {
  const path = await consistencyPath(read, readStatement(note)!.size, size);
  return { path: path.map((hash) => hash.toBase64()) };
};
