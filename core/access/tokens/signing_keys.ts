import { type Clock, isWithin } from "../../../kv/store/clock.ts";
import { SYSTEM } from "../../../kv/store/collection.ts";
import { signers, type SigningKeyRecord, signingKeys } from "../../../kv/records/installation.ts";
import type { Store } from "../../../kv/store/store.ts";
import type { Sealer } from "../../codec/codec.ts";
import { DAY_MS } from "../../../kv/store/durations.ts";
import { generateSigningKey, type SigningKey, type VerificationKey } from "./jwt.ts";

const SIGNS_FOR_MS = 30 * DAY_MS;
/** Longer than any token lives, so that a retired key still verifies the tokens that it signed. */
const VERIFIES_AFTER_MS = DAY_MS;
/** How often an instance rereads the keys; a token that names an unknown key makes it reread earlier. */
const REFRESH_MS = 60_000;
/** Tokens that name unknown keys cause at most one read of the store in this time. */
const RELOAD_MS = 1_000;
const KEYS_MAX = 16;

/** The keys that sign JWTs: created when there is none, replaced every 30 days. */
export class SigningKeys {
  #records: SigningKeyRecord[] = [];
  #loadedAtMs = -Infinity;
  #making: Promise<SigningKeyRecord> | null = null;

  constructor(
    private readonly store: Store,
    private readonly sealer: Sealer,
    private readonly clock: Clock,
  ) {}

  /** The key that signs now. */
  async current(): Promise<SigningKey> {
    const record = this.#signing(await this.#load()) ?? await this.#makeOnce();
    const privateJwk = JSON.parse(this.sealer.open(record.sealed_private_jwk, record.id));
    return { kid: record.id, publicJwk: record.public_jwk, privateJwk };
  }

  /** Every key whose tokens may still be valid. */
  async published(): Promise<VerificationKey[]> {
    const records = await this.#load();
    return records.map(({ id, public_jwk }) => ({ kid: id, publicJwk: public_jwk }));
  }

  /** Makes the next verification read the keys again: a token named an unknown key. */
  refresh(): void {
    if (!this.#wasLoadedWithin(RELOAD_MS)) this.#loadedAtMs = -Infinity;
  }

  #wasLoadedWithin(ms: number): boolean {
    return isWithin(this.#loadedAtMs, ms, this.clock.now());
  }

  #signing(records: readonly SigningKeyRecord[]): SigningKeyRecord | undefined {
    return records.findLast((key) => this.clock.now() < key.signs_until_ms);
  }

  async #load(): Promise<SigningKeyRecord[]> {
    const now = this.clock.now();
    if (!this.#wasLoadedWithin(REFRESH_MS)) {
      this.#records = (await this.store.list(signingKeys, SYSTEM, { limit: KEYS_MAX })).items;
      this.#records.sort((a, b) => a.created_at_ms - b.created_at_ms);
      this.#loadedAtMs = now;
    }
    return this.#records.filter((key) => now < key.expires_at_ms);
  }

  #makeOnce(): Promise<SigningKeyRecord> {
    return this.#making ??= this.#make().finally(() => this.#making = null);
  }

  /** Creates a key, or returns the one that another instance created first. */
  async #make(): Promise<SigningKeyRecord> {
    const { kid, publicJwk, privateJwk } = await generateSigningKey();
    const now = this.clock.now();
    const record = await this.store.transact(async (tx) => {
      const signer = await tx.get(signers, SYSTEM, "signer");
      const other = signer && await tx.get(signingKeys, SYSTEM, signer.kid);
      if (other !== null && now < other.signs_until_ms) return other;
      tx.put(signers, SYSTEM, { id: "signer", kid });
      return tx.insert(signingKeys, SYSTEM, {
        id: kid,
        public_jwk: publicJwk,
        sealed_private_jwk: this.sealer.seal(JSON.stringify(privateJwk), kid),
        created_at_ms: now,
        signs_until_ms: now + SIGNS_FOR_MS,
        expires_at_ms: now + SIGNS_FOR_MS + VERIFIES_AFTER_MS,
      });
    });
    this.#loadedAtMs = -Infinity;
    return record;
  }
}
