/**
 * Policies as code: which policies are in force comes from files in Git repositories.
 *
 * An apply or a sync fetches a branch, validates its policy files, and puts the whole set in force in one commit,
 * with a version of each changed policy and an event. An apply carries out exactly the plan that a dry run
 * shows; a dry run writes nothing, and a failed apply leaves everything as it was. Agents get the policies that concern them, and drift
 * compares what they report with what is applied. Backups and restores carry an agent's configuration over its
 * link, and upgrades carry the relay's version of the program to agents in stages.
 *
 * State in memory: `PolicyCache` caches documents of versions, which never change. The runners of syncs and transfers
 * know what runs in this process, and `AwaitedFetches` limits the fetches of each instance. A lease or an attempt
 * number in the store keeps other instances from doing the same work, and a sweep takes over the work of an ended
 * instance.
 */

export { notePolicyHeld, pushPolicies } from "./agents/distribution.ts";
export { getDrift, noteState } from "./agents/drift.ts";
export { getGuard } from "./agents/guard.ts";
export { applyPolicies } from "./apply.ts";
export { AwaitedFetches } from "./awaited_fetches.ts";
export { listBackups, listRestores, startBackup, startRestore } from "./backups/backups.ts";
export { Transfers } from "./backups/transfers.ts";
export { policyJsonSchema } from "./documents/document.ts";
export { claimsProof, isProvedPush } from "./hooks/large_body.ts";
export { receivePush } from "./hooks/receive.ts";
export { getPolicy, listPolicies } from "./in_force.ts";
export { PolicyCache } from "./policy_cache.ts";
export { pruneVersions } from "./prune_versions.ts";
export {
  adoptRepository,
  createRepository,
  deleteRepository,
  getRepository,
  listRepositories,
  MADE_REPOSITORIES,
} from "./repositories.ts";
export type { RepositoryCredentials } from "./source.ts";
export { REPOSITORY } from "./standing.ts";
export { syncRunner } from "./syncs.ts";
export { cancelUpgrade, getUpgrade, startUpgrade, UPGRADED_MAX } from "./upgrades/upgrades.ts";
export { diffVersions, getVersion, listVersions, rollBack, unpin } from "./versions.ts";
