import type { Family } from "./family.ts";
import { ARCHIVES } from "./families/archives.ts";
import { CONTAINERS } from "./families/containers.ts";
import { DATABASES } from "./families/databases.ts";
import { ENCODERS } from "./families/encoders.ts";
import { FILES } from "./families/files.ts";
import { GIT } from "./families/git.ts";
import { REMOTE } from "./families/remote.ts";
import { SEARCHERS } from "./families/searchers.ts";
import { TRANSFER } from "./families/transfer.ts";
import { FINDERS } from "./families/find.ts";
import { XARGS_PROGRAMS } from "./families/xargs.ts";
import { ENVIRONMENTS } from "./families/environments.ts";
import { SHELL_PROGRAMS } from "./families/shells.ts";
import { INTERPRETERS } from "./families/interpreters.ts";
import { USERS } from "./families/users.ts";

/** The families of programs of which more than one fact is known. */
export const FAMILIES: readonly Family[] = [
  ...FILES,
  ...SEARCHERS,
  ...TRANSFER,
  ...REMOTE,
  ...ARCHIVES,
  ...ENCODERS,
  ...CONTAINERS,
  ...DATABASES,
  ...GIT,
  ...USERS,
  ...INTERPRETERS,
  ...SHELL_PROGRAMS,
  ...ENVIRONMENTS,
  ...XARGS_PROGRAMS,
  ...FINDERS,
];

/** One fact, by the name of each program for which it is known. */
export function factsOf<K extends keyof Family>(
  field: K,
): ReadonlyMap<string, NonNullable<Family[K]>> {
  const facts = new Map<string, NonNullable<Family[K]>>();
  for (const family of FAMILIES) {
    const fact = family[field];
    if (fact === undefined) continue;
    for (const name of family.names) facts.set(name, fact as NonNullable<Family[K]>);
  }
  return facts;
}
