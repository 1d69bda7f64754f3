import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import { z } from "zod";
import { isWithin } from "../../../kv/store/clock.ts";
import { Fault } from "../../fault/fault.ts";
import { OutboundError, type Ports } from "../../ports/ports.ts";
import type { Issuer } from "../../context/context.ts";

/** Keys are fetched again after this. */
export const KEYS_FRESH_MS = 10 * 60 * 1000;
/** While an issuer cannot be reached, its last keys are used for this long. */
const KEYS_STALE_MS = 24 * 60 * 60 * 1000;
/** Unknown keys and failures cause at most one fetch in this time. */
const RETRY_MS = 30_000;
const DEADLINE_MS = 5_000;
const BODY_BYTES_MAX = 256 * 1024;
const KEYS_MAX = 100;

interface Known {
  keys: JWTVerifyGetKey | null;
  /** When the keys arrived. */
  atMs: number;
  /** When they were last requested. */
  triedAtMs: number;
  fetching: Promise<void> | null;
}

const Jwks = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(KEYS_MAX) });
const Metadata = z.object({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https?$/ }) });

class UnusableAnswer extends Error {}

/** The keys of other token issuers, as their servers last published them. */
export class IssuerKeys {
  readonly #known = new Map<string, Known>();

  constructor(private readonly ports: Pick<Ports, "clock" | "outbound" | "log">) {}

  /**
   * The keys that verify an issuer's tokens; `unknownKey` means that a token names a key that is missing.
   * @throws {Fault} UNAVAILABLE when there are none and the issuer cannot be reached
   */
  async of(
    issuer: Issuer,
    { unknownKey = false }: { readonly unknownKey?: boolean } = {},
  ): Promise<JWTVerifyGetKey> {
    const known = this.#knownOf(issuer);
    const now = this.ports.clock.now();
    const wanted = unknownKey || known.keys === null || !isWithin(known.atMs, KEYS_FRESH_MS, now);
    if (wanted && (known.fetching !== null || !isWithin(known.triedAtMs, RETRY_MS, now))) {
      known.fetching ??= this.#refresh(issuer, known).finally(() => known.fetching = null);
      await known.fetching;
    }
    if (known.keys !== null && isWithin(known.atMs, KEYS_STALE_MS, now)) return known.keys;
    throw new Fault(
      "UNAVAILABLE",
      "The keys of this token's issuer cannot be fetched now. Try again later.",
    );
  }

  #knownOf({ issuer, jwks_uri }: Issuer): Known {
    const name = `${issuer} ${jwks_uri ?? ""}`;
    let known = this.#known.get(name);
    if (known === undefined) {
      known = { keys: null, atMs: -Infinity, triedAtMs: -Infinity, fetching: null };
      this.#known.set(name, known);
    }
    return known;
  }

  /** Fetches an issuer's keys; after a failure the known keys stay. */
  async #refresh(issuer: Issuer, known: Known): Promise<void> {
    const { clock, log } = this.ports;
    known.triedAtMs = clock.now();
    try {
      const uri = issuer.jwks_uri ?? await this.#discover(issuer.issuer);
      const keys = Jwks.parse(await this.#fetchJson(uri));
      known.keys = createLocalJWKSet(keys as JSONWebKeySet);
      known.atMs = clock.now();
    } catch (error) {
      const expected = error instanceof OutboundError || error instanceof z.ZodError ||
        error instanceof errors.JOSEError || error instanceof UnusableAnswer;
      if (!expected) throw error;
      const fields = { issuer: issuer.issuer, error: String(error) };
      log.warn("the keys of a token issuer could not be fetched", fields);
    }
  }

  /** The key set's address, from the issuer's metadata. */
  async #discover(issuer: string): Promise<string> {
    const { origin, pathname } = new URL(issuer);
    const path = pathname.replace(/\/$/, "");
    const addresses = [
      `${origin}${path}/.well-known/openid-configuration`,
      `${origin}/.well-known/oauth-authorization-server${path}`,
    ];
    let failure: unknown;
    for (const address of addresses) {
      try {
        const metadata = Metadata.parse(await this.#fetchJson(address));
        if (metadata.issuer === issuer) return metadata.jwks_uri;
        throw new UnusableAnswer(`${address} is the metadata of ${metadata.issuer}`);
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  async #fetchJson(url: string): Promise<unknown> {
    const answer = await this.ports.outbound.request({
      organization: null,
      method: "GET",
      url,
      headers: { accept: "application/json" },
      deadlineMs: DEADLINE_MS,
      keepBytes: BODY_BYTES_MAX,
    });
    if (answer.status !== 200) throw new UnusableAnswer(`${url} answered ${answer.status}`);
    if (answer.truncated) throw new UnusableAnswer(`${url} answered more than ${BODY_BYTES_MAX} B`);
    try {
      return JSON.parse(answer.body);
    } catch {
      throw new UnusableAnswer(`${url} did not answer JSON`);
    }
  }
}
