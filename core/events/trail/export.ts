import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { Tenant } from "../../../kv/store/collection.ts";
import type { Sequenced } from "../../../kv/log/log.ts";
import { auditTreeId, auditTrees } from "../../../kv/records/audit.ts";
import type { Reading } from "../../work/work.ts";
import { mustStillHave } from "../../access/authenticate.ts";
import { type AuditFilter, describe, matches, recordRead, showEvent } from "./query.ts";
import { canonicalJson } from "../../codec/canonical.ts";
import { iso } from "../../codec/instant.ts";
import type { Scope } from "../../work/scopes.ts";
import { EXPORTS, type Pages, type ProvenRow, type Text } from "./export_formats.ts";
import { auditKeyOf, originOf, type PublicKey } from "./keys.ts";
import { leafHex, type ReadNode, subtreesOf } from "../../protocol/checkpoints/merkle.ts";
import { HASH_BYTES } from "../../protocol/checkpoints/node_hash.ts";
import { keyText, signNote, statementText } from "../../protocol/checkpoints/note.ts";
import { CLOCK_SLACK_MS, isInOrder, rowsBefore } from "./places.ts";
import { isLeaf, leavesOf, nodesOf, rootOf, TILE } from "./tiles.ts";

/** Every matching event, oldest first, as text of this media type, a bounded piece at a time. */
export async function exportAudit(work: Reading, filter: AuditFilter, type: string) {
  const { app, actor: { tenant } } = work;
  const tree = await app.audit.reach(tenant);
  const { size, expired } = tree;
  const root = await rootOf(app.store, tenant, size);
  const asked = describe(filter);
  await recordRead(work, "audit_exported", { filter: asked, format: type, tree_size: size });
  const key = await auditKeyOf(app, tenant);
  const statement = {
    origin: originOf(tenant),
    size,
    root,
    time: iso(app.ports.clock.now()),
    expired,
    selection: null,
  };
  const plain = signNote(statementText(statement), key, key.privateKey);
  const sign = ({ expired, rows, digest }: Held): string => {
    const selection = { filter: canonicalJson(asked), rows, digest };
    return signNote(statementText({ ...statement, expired, selection }), key, key.privateKey);
  };
  const { extension, write } = EXPORTS[type]!;
  return {
    type,
    body: write(
      provenPages(app, tenant, filter, { size, expired, inOrder: isInOrder(tree), key, sign }),
    ),
    filename: `audit.${extension}`,
    headers: { "x-audit-checkpoint": Buffer.from(plain).toString("base64") },
  };
}

/** Any of these opens the trail. */
export const READERS: readonly Scope[] = ["system:read", "audit:read"];

/**
 * An export for as long as its caller may read the trail: a reader may take its time, and gets nothing more
 * once the credential or the right is gone.
 * @throws {Fault} INSUFFICIENT_SCOPES
 */
export async function* whileReadable(work: Reading, pieces: Text): Text {
  for await (const piece of pieces) {
    yield piece;
    await mustStillHave(work, READERS);
  }
}

interface Plan {
  readonly size: number;
  /** Rows that were not kept when the export began. */
  readonly expired: number;
  /** Whether a time is a place in the log. */
  readonly inOrder: boolean;
  readonly key: PublicKey;
  readonly sign: (held: Held) => string;
}

/** What an export has come to hold. */
interface Held {
  /** Rows that were not kept when it ended: retention goes on beside it. */
  readonly expired: number;
  readonly rows: number;
  readonly digest: string;
}

async function* provenPages(
  app: Reading["app"],
  tenant: Tenant,
  filter: AuditFilter,
  { size, inOrder, key, sign, ...plan }: Plan,
): Pages {
  const read = nodesOf(app.store, tenant);
  const everything = Object.values(filter).every((value) => value === undefined);
  const numbers = createHash("sha256");
  let { expired } = plan;
  // Whether rows up to this one are missing, and not because they are no longer kept.
  const isGap = async (last: number): Promise<boolean> => {
    if (last > expired) {
      const tree = await app.store.get(auditTrees, tenant, auditTreeId(tenant));
      expired = tree?.expired ?? expired;
    }
    return last > expired;
  };
  // The last row in the export, the last one that was looked at, and whether one is missing between them.
  let shown = 0, looked = expired, hole = false, rows = 0, over = false;
  if (filter.startMs !== undefined && inOrder) {
    looked = await rowsBefore(app, tenant, filter.startMs - CLOCK_SLACK_MS, {
      from: expired,
      to: size,
      trusted: (row) => isLeaf(read, row),
    });
  }
  while (looked < size && !over) {
    const first = looked;
    const end = Math.min(size, (Math.floor(first / TILE) + 1) * TILE);
    const leaves = Buffer.from(await leavesOf(app.store, tenant, first, end));
    const page: ProvenRow[] = [];
    for (const event of await app.log.read(tenant, first, end - first)) {
      const { seq } = event;
      if (seq > end) break;
      const at = (seq - 1 - first) * HASH_BYTES;
      const isSound = () => leafHex(event.json) === leaves.toString("hex", at, at + HASH_BYTES);
      over = inOrder && isAfter(event, filter) && isSound();
      if (over) break;
      // What is not in the store was not left out by the filter: no hash may stand for it.
      hole ||= seq > looked + 1 && await isGap(seq - 1);
      looked = seq;
      if (!everything && !matches(showEvent(event), filter)) {
        // Nor for what was changed so that the filter leaves it out.
        hole ||= !isSound();
        continue;
      }
      const leaf = leaves.toString("base64", at, at + HASH_BYTES);
      const before = !hole && seq > shown + 1
        ? `,"before":${
          JSON.stringify({ after: shown, hashes: await hashesOf(read, shown, seq - 1) })
        }`
        : "";
      const tile = seq % TILE === 0 ? `,"tile_hash":"${await tileHash(read, seq)}"` : "";
      page.push({ event, leaf, front: `"seq":${seq},"leaf_hash":"${leaf}"${before}${tile}` });
      numbers.update(`${seq}\n`);
      rows++;
      shown = seq;
      hole = false;
    }
    if (page.length > 0) yield page;
    if (over) break;
    hole ||= looked < end && await isGap(end);
    looked = end;
  }
  return {
    checkpoint: sign({ expired, rows, digest: numbers.digest("hex") }),
    public_key: keyText(key),
    after: shown,
    hashes: hole ? [] : await hashesOf(read, shown, size),
    ...(key.handovers.length > 0 && { handovers: key.handovers }),
  };
}

function isAfter(event: Sequenced, { endMs }: AuditFilter): boolean {
  return endMs !== undefined && Date.parse(showEvent(event).timestamp) > endMs + CLOCK_SLACK_MS;
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
