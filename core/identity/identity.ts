/**
 * Who asks, and what comes with a call: the caller with current rights, the scopes and built-in roles that make up
 * rights, the request without its input, and answers that are more than data: 202, cookies, a redirect. Nothing here
 * reads the store or keeps state; `access` finds the caller, and every rule receives it.
 */
export { Accepted } from "./accepted.ts";
export { type Cookie, Redirect, WithCookie, WithSession } from "./cookie.ts";
export type { Actor, ForeignToken } from "./actor.ts";
export { canonicalEmail } from "./email.ts";
export { CHECK_SHARED_MS, nextCheckOf } from "./next_check.ts";
export { copyInfo, type GitHookHeaders, idsOf, type RequestInfo } from "./request.ts";
export { BUILT_IN_ROLES, type Scope, SCOPE_LIST, SCOPES } from "./scopes.ts";
