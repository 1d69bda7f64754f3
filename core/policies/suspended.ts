import type { Tenant } from "../../kv/store/collection.ts";
import type { RepositoryRecord } from "../../kv/records/gitops.ts";
import type { Reader } from "../../kv/store/reader.ts";
import { Fault } from "../fault/fault.ts";
import { REPOSITORY } from "./standing.ts";
import { actsFor, suspensionOf } from "../access/access.ts";

/** Raised when the person for whom a repository is synced may not write policies now. */
export class Suspended extends Fault {
  constructor(person: string) {
    const message =
      `The repository is suspended, because ${person}, for whom it is synced, may not write ` +
      "policies.";
    super("FORBIDDEN", `${message} A user with the required rights can adopt it.`);
  }
}

/** The person on whose behalf Relay itself syncs a repository. @throws {Suspended} */
export async function mustAct(
  db: Reader,
  tenant: Tenant,
  repository: RepositoryRecord,
): Promise<{ readonly person: string }> {
  const person = actsFor(repository);
  if (await suspensionOf(db, tenant, REPOSITORY, repository) !== null) throw new Suspended(person);
  return { person };
}
