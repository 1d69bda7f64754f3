/**
 * Who asks: the caller with current rights, the scopes and built-in roles that make up rights, and the request
 * without its input. Nothing here reads the store or keeps state; `access` finds the caller, and every rule receives it.
 */
export type { Actor, ForeignToken } from "./actor.ts";
export { CHECK_SHARED_MS, nextCheckOf } from "./next_check.ts";
export { copyInfo, type GitHookHeaders, type RequestInfo } from "./request.ts";
export { BUILT_IN_ROLES, type Scope, SCOPE_LIST, SCOPES } from "./scopes.ts";
