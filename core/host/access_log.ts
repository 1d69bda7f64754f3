import { type Actor, idsOf, type RequestInfo } from "../identity/identity.ts";

/** Which requests are logged, as the configuration says it. */
interface AccessRule {
  readonly requests: "off" | "errors" | "all";
  /** The share of them, from 0 to 1. */
  readonly share: number;
}

/** The rules in force. */
interface Rules {
  readonly config: () => { readonly access_log: AccessRule };
  readonly settings: { readonly given: { readonly RELAY_ACCESS_LOG: AccessRule | null } };
}

/** What writing a line takes. */
interface Writing {
  readonly log: { info(message: string, fields: Readonly<Record<string, unknown>>): void };
  readonly entropy: { unit(): number };
}

/** An answered request. */
interface Answered {
  readonly method: string;
  /** The pattern of its path: the address itself may hold secrets. */
  readonly route: string;
  readonly status: number;
  readonly tookMs: number;
  readonly actor: Actor;
  readonly request: Pick<RequestInfo, "id" | "trace">;
}

/** Which requests the log gets; null for none. The environment takes precedence over the configuration. */
export function accessRule({ config, settings }: Rules): AccessRule | null {
  const rule = settings.given.RELAY_ACCESS_LOG ?? config().access_log;
  return rule.requests === "off" ? null : rule;
}

/** Writes a request to the log, if the rule chooses it. Failures of the server are always among a share. */
export function logAccess(
  { log, entropy }: Writing,
  { requests, share }: AccessRule,
  { method, route, status, tookMs, actor, request }: Answered,
): void {
  if (requests === "errors" && status < 400) return;
  if (status < 500 && share < 1 && entropy.unit() >= share) return;
  log.info("request", {
    method,
    route,
    status,
    ms: Math.round(tookMs * 10) / 10,
    ...idsOf(request),
    ...(actor.kind !== "anonymous" && { organization_id: actor.tenant.org, actor_id: actor.id }),
  });
}
