import { RecentMap } from "../../../kv/store/recent.ts";
import { Fault } from "../../fault/fault.ts";
import type { Clock } from "../../../kv/store/clock.ts";
import { type Claims, signToken, verifyToken } from "./jwt.ts";
import type { SigningKeys } from "./signing_keys.ts";

const VERIFIED_MAX = 5_000;

/** Signs and verifies Relay's own JWTs. Verified tokens are remembered: a signature is checked once. */
export class Tokens {
  readonly #verified = new RecentMap<Claims>(VERIFIED_MAX);

  constructor(
    private readonly keys: SigningKeys,
    private readonly clock: Clock,
    /** The `iss` of every token. */
    readonly issuer: string,
  ) {}

  async sign(
    claims: Pick<Claims, "sub" | "org" | "sid">,
    validity: { readonly nowMs: number; readonly ttlMs: number; readonly jti: string },
  ): Promise<string> {
    return await signToken(await this.keys.current(), claims, { issuer: this.issuer, ...validity });
  }

  /** The claims of a valid token. @throws {Fault} INVALID_TOKEN */
  async verify(token: string): Promise<Claims> {
    const nowMs = this.clock.now();
    const known = this.#verified.get(token);
    if (known !== undefined && nowMs < known.exp * 1000) return known;
    const options = { issuer: this.issuer, nowMs };
    const claims = await verifyToken(await this.keys.published(), token, options)
      .catch(async (error) => {
        if (!(error instanceof Fault) || error.details.reason !== "unknown_key") throw error;
        this.keys.refresh();
        return await verifyToken(await this.keys.published(), token, options);
      });
    this.#verified.set(token, claims);
    return claims;
  }
}
