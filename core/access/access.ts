/**
 * Who may do what: people and how they sign in, sessions, tokens of Relay and of other issuers, roles, invitations,
 * API keys with their usage, and rate limits. It promises:
 *
 * - An actor always has current rights: credentials, roles and people are compared with the store on each request.
 * - Nobody hands out more than they have, and another organization's things look like missing ones.
 * - Every secret is stored as a hash or sealed; only the answer that creates it shows it.
 *
 * Parts with state in memory work correctly with several instances: the `Authenticator`, `Tokens` and `SigningKeys` remember
 * only what they compare with the store or what a signature proves; the `Limiter` spends leases of shared counters;
 * `Providers` and `McpClients` cache what issuers and clients publish; `Usage` and `McpSessions` hold counts that each instance writes by itself; the
 * `FailureThrottle` counts in memory only for a sole process.
 */

export { ANONYMOUS, Authenticator, DEVICE_PREFIX } from "./authenticate.ts";
export {
  invite,
  listInvitations,
  readInvitation,
  withdrawInvitation,
} from "./invitations/invitations.ts";
export { Providers } from "./issuers/providers.ts";
export { updateApiKey } from "./keys/change.ts";
export { createApiKey, EXPIRES_DAYS_DEFAULT, EXPIRES_DAYS_MAX } from "./keys/create.ts";
export { deleteApiKey, revokeApiKey } from "./keys/end.ts";
export { notifyOfExpiringKeys } from "./keys/expiring.ts";
export { explainApiKey, KEY_CHECKS } from "./keys/explain.ts";
export { endingWith, MADE_TYPES, madeKind, madeKinds, type NamedKind } from "./keys/made_kinds.ts";
export { credentialInHand } from "./keys/made_with.ts";
export { notifyOfOldValue } from "./keys/old_value.ts";
export { mustCover, mustHoldNewValue } from "./keys/owned.ts";
export {
  everybody,
  haveInCommon,
  isAmong,
  type People,
  peopleBehind,
  unite,
  without,
} from "./keys/people_behind.ts";
export { getApiKey, listApiKeys } from "./keys/read.ts";
export { rotateApiKey } from "./keys/rotate.ts";
export { isUsable, KEY_STATUSES, type KeyStatus, statusOf } from "./keys/show.ts";
export { isChecked, makeCheckedText, makeSecretText } from "./keys/value.ts";
export { planLimit, REQUEST_SCOPES } from "./limits/kinds.ts";
export {
  Limiter,
  type LimitState,
  mustPass,
  retryAfterOf,
  tooMany,
  UNLIMITED,
  unlimitedAt,
} from "./limits/limiter.ts";
export { networkOf } from "./limits/network.ts";
export { changeLimits, showLimits } from "./limits/overrides.ts";
export { notifyOfPlanLimits } from "./limits/plan_notice.ts";
export { type Attempted, FailureThrottle } from "./limits/throttle.ts";
export { McpClients, registerClient } from "./mcp_clients/clients.ts";
export { decideConsent, MCP_RESOURCES, readConsent } from "./mcp_clients/consent.ts";
export { type Form, issueMcpTokens, revokeMcpToken } from "./mcp_clients/exchange.ts";
export { endMcpClient, listMcpClients } from "./mcp_clients/grants.ts";
export { McpSessions } from "./mcp_sessions.ts";
export { readAccountSettings, updateAccountSettings } from "./people/account_settings.ts";
export { listNotifications, readNotification } from "./people/notifications.ts";
export {
  notifyAdministrators,
  notifyHolders,
  notifySettingsEditors,
  trimNotifications,
} from "./people/notify.ts";
export { activatePerson, deactivatePerson, listPeople } from "./people/people.ts";
export { mustActForPerson } from "./people/person.ts";
export { hasSoleMember } from "./people/sole_member.ts";
export { assignRole, revokeRole, rolesOfUser } from "./roles/assign.ts";
export {
  giverOf,
  homeOf,
  personRights,
  rightsToGive,
  type Source,
  sourceBy,
} from "./roles/grant.ts";
export { rightsOf } from "./roles/rights.ts";
export { createRole, deleteRole, listRoles, readRole, updateRole } from "./roles/roles.ts";
export { accountInfo, renameOrganization } from "./sign_in/account.ts";
export { holderOfCookie, logInByCookie, logOut, signUpByCookie } from "./sign_in/cookie_session.ts";
export {
  decideDeviceLogin,
  pollDeviceLogin,
  readDeviceLogin,
  startDeviceLogin,
} from "./sign_in/device_login.ts";
export { beginIssuerSignIn, finishIssuerSignIn } from "./sign_in/issuer_sign_in.ts";
export { logIn } from "./sign_in/log_in.ts";
export type { Founder, SignIn } from "./sign_in/parts.ts";
export { changePassword } from "./sign_in/password.ts";
export { PASSWORD_LENGTH_MAX, PASSWORD_LENGTH_MIN, passwordProblem } from "./sign_in/passwords.ts";
export { refreshSession } from "./sign_in/refresh.ts";
export { type Reset, resetPassword } from "./sign_in/reset.ts";
export { createPasswordReset, usePasswordReset } from "./sign_in/reset_link.ts";
export {
  confirmSecondFactor,
  disableSecondFactor,
  enrolSecondFactor,
  readSecondFactor,
  replaceRecoveryCodes,
  requireSecondFactor,
} from "./sign_in/second_factor.ts";
export { endSession, listSessions } from "./sign_in/sessions.ts";
export { claimCodeOf, signInOptions, signUp } from "./sign_in/sign_up.ts";
export { adopt } from "./standing/adopt.ts";
export type { AnyStandingKind, StandingKind } from "./standing/kinds.ts";
export { noteStanding, reviewStanding, sweepStandingReviews } from "./standing/review.ts";
export { actsFor, showStanding, suspensionOf } from "./standing/suspension.ts";
export { SigningKeys } from "./tokens/signing_keys.ts";
export { Tokens } from "./tokens/tokens.ts";
export { getUsage } from "./usage/report.ts";
export { Usage } from "./usage/usage.ts";
