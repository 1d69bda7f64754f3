import { hash } from "node:crypto";
import type { Tenant } from "../../../kv/store/collection.ts";
import { BLOB_BYTES_MAX } from "../../../kv/engine/engine_limits.ts";
import { canonicalJson } from "../../codec/codec.ts";
import { auditKeyOf, originOf } from "../../events/events.ts";
import { readStatement, signNote } from "../../protocol/protocol.ts";
import type { Counted } from "./count.ts";
import { makePack, type Pack } from "./pack.ts";
import type { ReportNeeds, ScannedReport } from "./scan.ts";

/** The most users, keys, approvals and exceptions, each, that a report lists. */
const LISTED_MAX = 1_000;

/** A pack with the signed note over its digest. */
export interface SignedPack {
  readonly pack: Pack;
  /** Its canonical JSON. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly sha256: string;
  readonly note: string;
}

/** Makes and signs the pack of a report whose rows are counted. */
export async function signedPack(
  relay: ReportNeeds,
  tenant: Tenant,
  report: ScannedReport,
  counted: Counted,
): Promise<SignedPack> {
  const fitting = await fittingPack(relay, tenant, report, counted);
  const key = await auditKeyOf(relay, tenant);
  const text = noteText(tenant, fitting.pack, fitting.sha256);
  return { ...fitting, note: signNote(text, key, key.privateKey) };
}

/** A pack that fits into one blob. Halves the length of its lists until it does. */
async function fittingPack(
  relay: ReportNeeds,
  tenant: Tenant,
  report: ScannedReport,
  counted: Counted,
) {
  for (let listedMax = LISTED_MAX;; listedMax = Math.floor(listedMax / 2)) {
    const pack = await makePack(relay, tenant, report, counted, listedMax);
    const json = canonicalJson(pack);
    const bytes = new TextEncoder().encode(json);
    if (bytes.length <= BLOB_BYTES_MAX || listedMax === 0) {
      return { pack, bytes, sha256: hash("sha256", json) };
    }
  }
}

/** The signed text of a pack: its digest and its subject. */
function noteText(tenant: Tenant, pack: Pack, sha256: string): string {
  const { size, root } = readStatement(pack.log.checkpoint)!;
  return [
    pack.format,
    originOf(tenant),
    `report ${pack.id} ${pack.type}`,
    `period ${pack.period.from} ${pack.period.to}`,
    `generated ${pack.generated_at}`,
    `checkpoint ${size} ${root.toBase64()}`,
    `sha256 ${sha256}`,
    "",
  ].join("\n");
}
