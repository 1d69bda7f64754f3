/**
 * What a rule is given: the context (store, log, ports, configuration, sealer, signals), the caller with its present
 * rights, and the request. Beside them stand what areas share about a call: scopes, settings, signals between areas,
 * the tracker of background work and idempotency keys. Nothing here keeps state but the listeners of signals and the
 * running background tasks, which belong to one process.
 */
export { Accepted } from "./accepted.ts";
export { Background } from "./background.ts";
export {
  BUILT_IN_PLANS,
  type Config,
  type ConfigSource,
  NO_SOURCE,
  parseConfig,
  planOf,
} from "./config.ts";
export { type Cookie, WithCookie } from "./cookie.ts";
export { checkIdempotencyKey, IDEMPOTENCY_KEY, usedForAnotherCall } from "./idempotency_key.ts";
export type { Issuer } from "./issuer_config.ts";
export { parseJson, TooManyParts } from "./parse_json.ts";
export { mustMatchRecord } from "./read_only.ts";
export { BUILT_IN_ROLES, type Scope, SCOPE_LIST, SCOPES } from "./scopes.ts";
export { publicOrigin, type Settings, type ShownVariable, type StoreSettings } from "./settings.ts";
export { Signals } from "./signals.ts";
export type { Actor, ForeignToken } from "./actor.ts";
export type { Context, Reading, Stepping, Work, Writing } from "./context.ts";
export type { GitHookHeaders, RequestInfo } from "./request.ts";
export { VERSION } from "./version.ts";
