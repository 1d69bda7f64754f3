import type { App } from "../core/app.ts";
import { Fault } from "../core/fault.ts";

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i;

/**
 * Refuses what a browser sends from another site, also when that site's name has been pointed here: a relay
 * that only this machine reaches is called by the machine's own names, and a public one by its own.
 * @throws {Fault} FORBIDDEN
 */
export function checkOrigin({ settings }: App, request: Request): void {
  const { local, publicUrl } = settings;
  const origin = request.headers.get("origin");
  if (local && !LOOPBACK.test(hostOf(request))) throw refused();
  if (origin === null) return;
  const from = URL.parse(origin);
  if (from === null) throw refused();
  const mine = publicUrl ?? null;
  if (mine !== null && from.origin === mine) return;
  if (local && LOOPBACK.test(from.host)) return;
  if (mine === null && !local && from.host === new URL(request.url).host) return;
  throw refused();
}

const hostOf = (request: Request): string =>
  request.headers.get("host") ?? new URL(request.url).host;

const refused = () =>
  new Fault("FORBIDDEN", "Requests from this origin or to this host name are not taken.");
