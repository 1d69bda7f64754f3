import type { AgentTree } from "../interfaces.ts";

/** Rights of the group and of others. */
const OTHERS = 0o077;

/** What makes a state directory open to other users, and the command that closes it. */
export interface OpenState {
  readonly problem: string;
  readonly remedy: string;
}

/**
 * Checks that only the agent's user can enter the state directory and read its files; null when that holds or there
 * is no directory yet. `owner` is the user's id; null where the system has none.
 */
export function findOpenState(
  stateDir: string,
  owner: number | null,
  tree: Pick<AgentTree, "look" | "list" | "realPath">,
): OpenState | null {
  const folder = tree.realPath(stateDir);
  if (owner === null || folder === null) return null;
  const paths = [folder, ...tree.list(folder).map((name) => `${folder}/${name}`)];
  const found = paths.map((path) => ({ path, entry: tree.look(path) }));
  const foreign = found.filter(({ entry }) => entry !== null && entry.owner !== owner);
  if (foreign.length > 0) {
    return {
      problem: `another user owns ${listOf(foreign)}`,
      remedy: `chown -R ${owner} ${folder}`,
    };
  }
  // Links have no meaningful mode.
  const wide = found.filter(({ entry }) =>
    entry !== null && entry.kind !== "link" && (entry.mode & OTHERS) !== 0
  );
  if (wide.length === 0) return null;
  // It keeps the owner's right to execute, which a stored program needs.
  const remedy = `chmod -R go= ${folder}`;
  return { problem: `other users may read or change ${listOf(wide)}`, remedy };
}

const listOf = (found: readonly { readonly path: string }[]): string =>
  found.map(({ path }) => path).join(", ");
