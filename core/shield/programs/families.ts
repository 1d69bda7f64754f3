import type { Family } from "./family.ts";
import { ARCHIVES } from "./families/archives.ts";
import { BUILDS } from "./families/builds.ts";
import { BUILTIN_PROGRAMS } from "./families/builtins.ts";
import { CLOUDS } from "./families/clouds.ts";
import { CONTAINERS } from "./families/containers.ts";
import { CONVERTERS } from "./families/converters.ts";
import { DAEMONS } from "./families/daemons.ts";
import { DATABASES } from "./families/databases.ts";
import { DEBUGGERS } from "./families/debuggers.ts";
import { EDITORS } from "./families/editors.ts";
import { ENCODERS } from "./families/encoders.ts";
import { ENVIRONMENTS } from "./families/environments.ts";
import { FILES } from "./families/files.ts";
import { FILTERS } from "./families/filters.ts";
import { FINDERS } from "./families/find.ts";
import { FLEETS } from "./families/fleets.ts";
import { GIT } from "./families/git.ts";
import { INTERPRETERS } from "./families/interpreters.ts";
import { MACHINES } from "./families/machines.ts";
import { PACKAGE_MANAGERS } from "./families/packages.ts";
import { PRINTERS } from "./families/printers.ts";
import { PROCESSES } from "./families/processes.ts";
import { REMOTE } from "./families/remote.ts";
import { SANDBOXES } from "./families/sandboxes.ts";
import { SEARCHERS } from "./families/searchers.ts";
import { SHELL_PROGRAMS } from "./families/shells.ts";
import { TERMINALS } from "./families/terminals.ts";
import { TRANSFER } from "./families/transfer.ts";
import { USERS } from "./families/users.ts";
import { XARGS_PROGRAMS } from "./families/xargs.ts";

/** All that is known of programs, apart from the rules about them. */
export const FAMILIES: readonly Family[] = [
  ...ARCHIVES,
  ...BUILDS,
  ...BUILTIN_PROGRAMS,
  ...CLOUDS,
  ...CONTAINERS,
  ...CONVERTERS,
  ...DAEMONS,
  ...DATABASES,
  ...DEBUGGERS,
  ...EDITORS,
  ...ENCODERS,
  ...ENVIRONMENTS,
  ...FILES,
  ...FILTERS,
  ...FINDERS,
  ...FLEETS,
  ...GIT,
  ...INTERPRETERS,
  ...MACHINES,
  ...PACKAGE_MANAGERS,
  ...PRINTERS,
  ...PROCESSES,
  ...REMOTE,
  ...SANDBOXES,
  ...SEARCHERS,
  ...SHELL_PROGRAMS,
  ...TERMINALS,
  ...TRANSFER,
  ...USERS,
  ...XARGS_PROGRAMS,
];

/** The names of all programs that a family describes. */
export const KNOWN_NAMES: ReadonlySet<string> = new Set(FAMILIES.flatMap(({ names }) => names));

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
