import { repositories, type RepositoryRecord } from "../../kv/records/gitops.ts";
import type { StandingKind } from "../access/access.ts";

/** A repository acts with the right to write policies. */
export const REPOSITORY: StandingKind<RepositoryRecord> = {
  of: repositories,
  resource: "repository",
  needs: () => ["policy:write"],
};
