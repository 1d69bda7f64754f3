import type { Collection } from "../../../kv/store/collection.ts";
import type { CreatedWith } from "../../../kv/records/fields.ts";
import type { Standing } from "../../../kv/records/standing.ts";
import type { Scope } from "../../identity/identity.ts";

/** Something that a person sets up and that later acts with that person's rights of the moment. */
export interface StandingRecord {
  readonly id: string;
  readonly name: string;
  readonly created_by: string;
  readonly created_with: CreatedWith | null;
  readonly standing?: Standing;
}

/** One kind of such things. Each area declares its own, and the composition collects them. */
export interface StandingKind<T extends StandingRecord> {
  readonly of: Collection<T>;
  /** Its name in events and notices. */
  readonly resource: "repository" | "webhook" | "integration" | "ingest_token";
  /** The rights that it acts with. */
  readonly needs: (record: T) => readonly Scope[];
}

/** Any kind, as a review of all of them handles it. */
export type AnyStandingKind = StandingKind<StandingRecord>;
