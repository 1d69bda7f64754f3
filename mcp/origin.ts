import type { App } from "../core/app.ts";
import { Fault } from "../core/fault.ts";
import { hostOf, isLoopback, isWelcome } from "../routes/_origin.ts";

/**
 * Refuses what a browser sends from another site, also when that site's name has been pointed here: a relay
 * that only this machine reaches is called by the machine's own names.
 * @throws {Fault} FORBIDDEN
 */
export function checkOrigin(app: App, request: Request): void {
  const origin = request.headers.get("origin");
  const known = !app.settings.local || isLoopback(hostOf(request));
  if (known && (origin === null || isWelcome(app, request, origin))) return;
  throw new Fault(
    "FORBIDDEN",
    "Requests from this origin or to this host name are not taken: see `allowed_origins`.",
  );
}
