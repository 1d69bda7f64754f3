import { apiKeys } from "../../../kv/records/api_key.ts";
import type { CreatedWith } from "../../../kv/records/fields.ts";
import type { Writing } from "../../work/work.ts";
import { Fault } from "../../fault/fault.ts";
import { isUsable } from "./show.ts";

/**
 * The caller's credential, for the record of what is made with it. A key is read in the transaction, so that
 * whoever revokes it and then searches for what it made misses nothing.
 * @throws {Fault} INVALID_API_KEY for a key that ended meanwhile
 */
export async function credentialInHand(
  { ports, actor, tx }: Pick<Writing, "ports" | "actor" | "tx">,
): Promise<CreatedWith | null> {
  if (actor.kind === "api_key") {
    const key = await tx.get(apiKeys, actor.tenant, actor.id);
    if (key !== null && isUsable(key, ports.clock.now())) {
      return { kind: "api_key", id: actor.id };
    }
    throw new Fault("INVALID_API_KEY", "The API key ended during the request.");
  }
  if (actor.grantId !== undefined) return { kind: "mcp_grant", id: actor.grantId };
  if (actor.sessionId !== null) return { kind: "session", id: actor.sessionId };
  return actor.foreign === undefined ? null : { kind: "issuer", id: actor.foreign.issuer.issuer };
}
