import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { auditTreeId, type AuditTreeRecord, auditTrees } from "../../../kv/records/audit.ts";
import type { Reading } from "../../work/work.ts";
import type { Actor, Scope } from "../../identity/identity.ts";
import type { Reauthorization } from "../reauthorization.ts";
import type { AuditTree } from "./checkpoints.ts";
import { type AuditFilter, describe, matches } from "./filter.ts";
import type { EventRow } from "../emit.ts";
import { recordRead } from "./record.ts";
import { canonicalJson, iso } from "../../codec/codec.ts";
import { EXPORTS, type Pages, type ProvenRow, type Text } from "./export_formats.ts";
import { auditKeyOf, originOf, type PublicKey } from "./audit_keys.ts";
import {
  HASH_BYTES,
  keyText,
  type ReadNode,
  signNote,
  statementText,
  subtreesOf,
} from "../../protocol/protocol.ts";
import { CLOCK_SLACK_MS, isTimeOrdered, rowsBefore } from "./row_times.ts";
import { endOfTile, isLeaf, isLeafAt, leavesOf, nodesOf, rootOf, TILE } from "./tiles.ts";

/** Every matching event, oldest first, as text of this media type, in bounded pieces. */
export async function exportAudit(
  work: Reading,
  audit: AuditTree,
  filter: AuditFilter,
  type: string,
) {
  const tree = await audit.reach(work.actor.tenant);
  const read = { filter: describe(filter), format: type, tree_size: tree.size };
  await recordRead(work, "audit_exported", read);
  const { body, checkpoint } = await provenRows(work, tree, filter, type);
  return {
    type,
    body,
    filename: `audit.${EXPORTS[type]!.extension}`,
    headers: { "x-audit-checkpoint": Buffer.from(checkpoint).toString("base64") },
  };
}

/** Every matching row of a tree, oldest first, with its proof, and a checkpoint of that tree. Nothing is recorded. */
export async function provenRows(
  work: Pick<Reading, "store" | "log" | "ports" | "sealer" | "actor">,
  tree: AuditTreeRecord,
  filter: AuditFilter,
  type: string,
): Promise<{ readonly body: Text; readonly checkpoint: string }> {
  const { store, ports, actor: { tenant } } = work;
  const { size, expired } = tree;
  const root = await rootOf(store, tenant, size);
  const key = await auditKeyOf(work, tenant);
  const statement = {
    origin: originOf(tenant),
    size,
    root,
    time: iso(ports.clock.now()),
    expired,
    selection: null,
  };
  const sign = ({ expired, rows, digest }: Contents): string => {
    const selection = { filter: canonicalJson(describe(filter)), rows, digest };
    return signNote(statementText({ ...statement, expired, selection }), key, key.privateKey);
  };
  const plan = { size, expired, timeOrdered: isTimeOrdered(tree), key, sign };
  return {
    body: EXPORTS[type]!.write(provenPages(work, filter, plan)),
    checkpoint: signNote(statementText(statement), key, key.privateKey),
  };
}

/** Any of these rights gives access to the trail. */
export const READERS: readonly Scope[] = ["system:read", "audit:read"];

/**
 * Passes the pieces of an export on while its caller may still read the trail. A slow reader gets nothing more
 * once the credential or the right is gone.
 * @throws {Fault} INSUFFICIENT_SCOPES
 */
export async function* whileReadable(
  pieces: Text,
  authenticator: Pick<Reauthorization, "mustStillHave">,
  actor: Actor,
): Text {
  for await (const piece of pieces) {
    yield piece;
    await authenticator.mustStillHave(actor, READERS);
  }
}

interface Plan {
  readonly size: number;
  /** Rows no longer kept when the export began. */
  readonly expired: number;
  /** True when timestamps determine positions. */
  readonly timeOrdered: boolean;
  readonly key: PublicKey;
  readonly sign: (contents: Contents) => string;
}

/** What a finished export contains. */
interface Contents {
  /** Rows no longer kept when it ended; retention runs concurrently. */
  readonly expired: number;
  readonly rows: number;
  readonly digest: string;
}

/** Rows that become one piece of an export. */
const PAGE_ROWS = 64;

async function* provenPages(
  { store, log, actor: { tenant } }: Pick<Reading, "store" | "log" | "actor">,
  filter: AuditFilter,
  { size, timeOrdered, key, sign, ...plan }: Plan,
): Pages {
  const read = nodesOf(store, tenant);
  const everything = Object.values(filter).every((value) => value === undefined);
  const numbers = createHash("sha256");
  let { expired } = plan;
  // True when rows up to this one are missing for another reason than retention.
  const isGap = async (last: number): Promise<boolean> => {
    if (last > expired) {
      const tree = await store.get(auditTrees, tenant, auditTreeId(tenant));
      expired = tree?.expired ?? expired;
    }
    return last > expired;
  };
  // The last row exported, the last row read, and whether a row between them is missing or altered.
  let exported = 0, seen = expired, hole = false, rows = 0, over = false;
  if (filter.startMs !== undefined && timeOrdered) {
    seen = await rowsBefore(log, tenant, filter.startMs - CLOCK_SLACK_MS, {
      from: expired,
      to: size,
      trusted: (row) => isLeaf(read, row),
    });
  }
  const reader = log.reader(tenant);
  while (seen < size && !over) {
    const first = seen;
    const end = endOfTile(first, size);
    const leaves = await leavesOf(store, tenant, first, end);
    let page: ProvenRow[] = [];
    for (const event of await reader.read(first, end - first)) {
      const { seq } = event;
      if (seq > end) break;
      const at = (seq - 1 - first) * HASH_BYTES;
      const isSound = () => isLeafAt(leaves, seq - 1 - first, event);
      const shown = everything ? null : JSON.parse(event.json) as EventRow;
      over = timeOrdered && shown !== null && isAfter(shown, filter) && isSound();
      if (over) break;
      // The filter did not leave a missing row out, so no hash may stand for it.
      hole ||= seq > seen + 1 && await isGap(seq - 1);
      seen = seq;
      if (shown !== null && !matches(shown, filter)) {
        // An altered row may have matched before, so no hash may stand for it either.
        hole ||= !isSound();
        continue;
      }
      const leaf = leaves.toString("base64", at, at + HASH_BYTES);
      const before = !hole && seq > exported + 1
        ? `,"before":${
          JSON.stringify({ after: exported, hashes: await hashesOf(read, exported, seq - 1) })
        }`
        : "";
      const tile = seq % TILE === 0 ? `,"tile_hash":"${await tileHash(read, seq)}"` : "";
      page.push({ event, leaf, front: `"seq":${seq},"leaf_hash":"${leaf}"${before}${tile}` });
      numbers.update(`${seq}\n`);
      rows++;
      exported = seq;
      hole = false;
      if (page.length < PAGE_ROWS) continue;
      yield page;
      page = [];
    }
    if (page.length > 0) yield page;
    if (over) break;
    hole ||= seen < end && await isGap(end);
    seen = end;
  }
  return {
    checkpoint: sign({ expired, rows, digest: numbers.digest("hex") }),
    public_key: keyText(key),
    after: exported,
    hashes: hole ? [] : await hashesOf(read, exported, size),
    ...(key.handovers.length > 0 && { handovers: key.handovers }),
  };
}

function isAfter({ timestamp }: EventRow, { endMs }: AuditFilter): boolean {
  return endMs !== undefined && Date.parse(timestamp) > endMs + CLOCK_SLACK_MS;
}

async function hashesOf(read: ReadNode, lo: number, hi: number): Promise<string[]> {
  const hashes: string[] = [];
  for (const { level, index } of subtreesOf(lo, hi)) {
    hashes.push((await read(level, index)).toBase64());
  }
  return hashes;
}

const tileHash = async (read: ReadNode, seq: number): Promise<string> =>
  (await read(Math.log2(TILE), seq / TILE - 1)).toBase64();
