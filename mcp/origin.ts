import type { Relay } from "../core/start.ts";
import { Fault } from "../core/fault/fault.ts";
import { isWelcome } from "../routes/http/origin.ts";

/**
 * Refuses what a browser sends from another site. That the host is one of a local relay's own was checked
 * before this, as for every path.
 * @throws {Fault} FORBIDDEN
 */
export function checkOrigin(relay: Relay, request: Request): void {
  const origin = request.headers.get("origin");
  if (origin === null || isWelcome(relay, request, origin)) return;
  throw new Fault("FORBIDDEN", "Requests from this origin are not taken: see `allowed_origins`.");
}
