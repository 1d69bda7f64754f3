import { SYSTEM, type Tenant } from "../../../kv/store/collection.ts";
import { installations } from "../../../kv/records/installation.ts";
import type { Store } from "../../../kv/store/store.ts";
import { type Sealer, SealError } from "../../codec/codec.ts";
import { admitSecrets, retireSecrets } from "./installation.ts";
import { SEALED, type SealedFields } from "./sealed.ts";
import { tenantsOf } from "../tenants.ts";

/** The progress of a rotation. */
export interface RotationProgress {
  /** Counts from 1; the last pass finds nothing to do. */
  readonly pass: number;
  /** The kind of record that is being examined. */
  readonly name: string;
  readonly records: number;
  /** Records that were resealed. */
  readonly resealed: number;
}

const PAGE = 100;
/** Records of one commit: a shared server accepts ten checks, and ten of the largest records fit. */
const RECORDS_AT_ONCE = 10;
/** The second pass finds texts sealed during the first; a third means that a relay still uses an older secret. */
const PASSES_MAX = 3;

/**
 * Reseals everything in the store with the sealer's newest secret and retires the older ones. It may be interrupted
 * at any point and run again, also while relays run that have all the secrets.
 * @throws {Error} when a text does not open, or a relay still seals with an older secret
 */
export async function rotateSecret(
  store: Store,
  sealer: Sealer,
  report: (progress: RotationProgress) => void,
): Promise<void> {
  const installation = await store.get(installations, SYSTEM, "installation");
  if (installation === null) return; // nothing was ever sealed here
  await store.transact((tx) => admitSecrets(tx, sealer, installation));
  for (let pass = 1; await resealAll(store, sealer, (at) => report({ pass, ...at })) > 0; pass++) {
    if (pass < PASSES_MAX) continue;
    throw new Error(
      "a relay still seals with an older secret: give every instance the new RELAY_SECRET " +
        "and the older one in RELAY_SECRET_OLD, then run this again",
    );
  }
  await store.transact((tx) => retireSecrets(tx, sealer));
}

/** Examines every sealed text once. Returns the number of resealed records. */
async function resealAll(
  store: Store,
  sealer: Sealer,
  report: (progress: Omit<RotationProgress, "pass">) => void,
): Promise<number> {
  const closed: string[] = [];
  let all = 0;
  for (const sealed of SEALED) {
    let records = 0, resealed = 0;
    for await (const { tenant, page } of pages(store, sealed)) {
      const due = page.filter((record) =>
        sealedTexts(sealed, record).some((text) => !sealer.isNewest(text))
      );
      for (let at = 0; at < due.length; at += RECORDS_AT_ONCE) {
        const some = due.slice(at, at + RECORDS_AT_ONCE).map(({ id }) => id);
        const result = await resealSome(store, sealer, sealed, tenant, some);
        resealed += result.resealed;
        closed.push(...result.closed);
      }
      records += page.length;
      report({ name: sealed.of.name, records, resealed });
    }
    all += resealed;
  }
  if (closed.length === 0) return all;
  throw new Error(
    `${closed.length} records do not open: ${closed.slice(0, 5).join("; ")}. Name the secret ` +
      "that they were sealed with in RELAY_SECRET_OLD, or delete them, and run this again",
  );
}

async function resealSome(
  store: Store,
  sealer: Sealer,
  { of, fields }: SealedFields,
  tenant: Tenant,
  ids: readonly string[],
): Promise<{ resealed: number; closed: string[] }> {
  return await store.transact(async (tx) => {
    let resealed = 0;
    const closed: string[] = [];
    for (const id of ids) {
      const record = await tx.get(of, tenant, id);
      if (record === null) continue;
      const texts = record as Readonly<Record<string, unknown>>;
      try {
        const fresh = fields.map((field) => {
          const text = texts[field];
          return [field, typeof text === "string" ? sealer.reseal(text, id) : text];
        });
        tx.put(of, tenant, { ...record, ...Object.fromEntries(fresh) });
        resealed++;
      } catch (error) {
        if (!(error instanceof SealError)) throw error;
        closed.push(`${of.name} ${id}: ${error.message}`);
      }
    }
    return { resealed, closed };
  });
}

/** The sealed texts of a record. */
function sealedTexts({ fields }: SealedFields, record: object): string[] {
  return fields.map((field) => (record as Readonly<Record<string, unknown>>)[field])
    .filter((text) => typeof text === "string");
}

/** Every record of a kind, of all tenants. */
async function* pages(store: Store, { of }: SealedFields) {
  for await (const tenant of everyTenant(store)) {
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof store.list<{ id: string }>>> = await store.list(
        of,
        tenant,
        { limit: PAGE, cursor },
      );
      if (page.items.length > 0) yield { tenant, page: page.items };
      cursor = page.cursor;
    } while (cursor !== null);
  }
}

async function* everyTenant(store: Store): AsyncGenerator<Tenant> {
  yield SYSTEM;
  yield* tenantsOf(store);
}
