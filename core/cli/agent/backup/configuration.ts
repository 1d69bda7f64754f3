import { hash } from "node:crypto";
import {
  type Archive,
  type ArchiveEntry,
  MAX_BACKUP_ROOTS,
  MAX_CONFIGURATION_BYTES,
  MAX_CONFIGURATION_FILES,
  MAX_PATH_LENGTH,
  POLICY_ROOT,
} from "../../../protocol/protocol.ts";
import { POLICY_FILE } from "../policies.ts";
import type { AgentTree } from "../interfaces.ts";

/** The suffix of temporary files, which are never backed up. */
export const TEMPORARY_SUFFIX = ".relay-new";
/** The largest depth of folders. */
const DEPTH_MAX = 32;
const FOLDERS_MAX = 2_000;

/** The configuration of an agent. */
export interface Configuration {
  readonly tree: AgentTree;
  readonly stateDir: string;
  /** The paths that the operator listed. */
  readonly roots: readonly string[];
  readonly settings: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
}

/**
 * Why a list of paths cannot be backed up, or null: it is too long, or contains the state directory, whose key must
 * not leave the machine and whose journals must not be replaced.
 */
export function refuseRoots({ tree, stateDir, roots }: Configuration): string | null {
  if (roots.length > MAX_BACKUP_ROOTS) return `At most ${MAX_BACKUP_ROOTS} paths may be backed up.`;
  const state = tree.realPath(stateDir) ?? stateDir;
  for (const root of roots) {
    const real = tree.realPath(root) ?? root;
    if (isWithin(state, real) || isWithin(real, state)) {
      return `The path ${root} cannot be backed up: it holds the agent's own key or journal.`;
    }
    if (root.length > MAX_PATH_LENGTH || !root.isWellFormed() || root === POLICY_ROOT) {
      return `The path ${root} cannot be backed up: its name is not usable.`;
    }
  }
  return null;
}

/** True for a folder's own path and all paths below it. */
const isWithin = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);

/** The path of an entry on this machine. */
export function placeOf(
  { stateDir }: Pick<Configuration, "stateDir">,
  { root, path }: Pick<ArchiveEntry, "root" | "path">,
): string {
  if (root === POLICY_ROOT) return `${stateDir}/${path}`;
  return path === "" ? root : `${root === "/" ? "" : root}/${path}`;
}

/** Reads everything that is backed up. @throws {Error} beyond the bounds, or for a link out of the listed paths */
export function readConfiguration(configuration: Configuration): Archive {
  const { tree, stateDir, roots, settings } = configuration;
  const entries: ArchiveEntry[] = [];
  const contents: Uint8Array[] = [];
  const add = (entry: Pick<ArchiveEntry, "root" | "path" | "mode">, content: Uint8Array) => {
    entries.push({ ...entry, bytes: content.length, sha256: hash("sha256", content), link: null });
    contents.push(content);
  };
  const policy = tree.look(`${stateDir}/${POLICY_FILE}`);
  if (policy?.kind === "file") {
    const content = tree.read(`${stateDir}/${POLICY_FILE}`);
    add({ root: POLICY_ROOT, path: POLICY_FILE, mode: policy.mode }, content);
  }
  let left = MAX_CONFIGURATION_BYTES;
  for (const { root, path, link, mode, place } of walk(configuration)) {
    if (link !== null) {
      entries.push({ root, path, mode, bytes: 0, sha256: hash("sha256", new Uint8Array()), link });
      contents.push(new Uint8Array());
      continue;
    }
    const content = tree.read(place);
    left -= content.length;
    if (left < 0) throw new Error(`more than ${MAX_CONFIGURATION_BYTES} bytes are listed`);
    add({ root, path, mode }, content);
  }
  const { name, labels } = settings;
  const head = { format: "relay.configuration.v1", settings: { name, labels } } as const;
  return { head: { ...head, roots: [...roots], entries }, contents };
}

/** A file or link below a listed path. */
export interface Found {
  readonly root: string;
  readonly path: string;
  readonly place: string;
  readonly mode: number;
  readonly link: string | null;
}

/** Every file and link that is listed, in a fixed order. @throws {Error} like `readConfiguration` */
export function walk(configuration: Configuration, asides: "skip" | "only" = "skip"): Found[] {
  const { tree, roots } = configuration;
  const found: Found[] = [];
  let folders = 0;
  let left = MAX_CONFIGURATION_BYTES;

  function visit(root: string, path: string, depth: number) {
    const place = placeOf(configuration, { root, path });
    const entry = tree.look(place);
    if (entry === null) return;
    if (entry.kind === "folder" || (path === "" && entry.kind === "link" && isFolder(place))) {
      if (depth > DEPTH_MAX) throw new Error(`${place} lies more than ${DEPTH_MAX} folders deep`);
      if (++folders > FOLDERS_MAX) throw new Error(`more than ${FOLDERS_MAX} folders are listed`);
      for (const name of tree.list(place)) {
        visit(root, path === "" ? name : `${path}/${name}`, depth + 1);
      }
      return;
    }
    if (place.endsWith(TEMPORARY_SUFFIX) !== (asides === "only")) return;
    if (path.length > MAX_PATH_LENGTH || !path.isWellFormed()) {
      throw new Error(`${place} has a name that cannot be backed up`);
    }
    if (found.length >= MAX_CONFIGURATION_FILES) {
      throw new Error(`more than ${MAX_CONFIGURATION_FILES} files are listed`);
    }
    const where = { root, path, place };
    if (entry.kind === "link") {
      const link = tree.readLink(place);
      mustStay(configuration, place, link);
      // Modes of links differ between systems and have no meaning.
      found.push({ ...where, mode: 0o777, link });
    } else if (entry.kind === "file") {
      left -= entry.bytes;
      if (left < 0) throw new Error(`more than ${MAX_CONFIGURATION_BYTES} bytes are listed`);
      found.push({ ...where, mode: entry.mode, link: null });
    }
  }

  function isFolder(place: string): boolean {
    const real = tree.realPath(place);
    return real !== null && tree.look(real)?.kind === "folder";
  }

  for (const root of roots) visit(root, "", 0);
  return found;
}

/** @throws {Error} for a link that leads out of the listed paths, now or when its target exists */
export function mustStay({ tree, roots }: Configuration, place: string, link: string): void {
  const refuse = () => new Error(`the link ${place} leads out of the listed paths, to ${link}`);
  const lexical = follow(place, link);
  if (lexical === null || !roots.some((root) => isWithin(lexical, root))) throw refuse();
  const real = tree.realPath(lexical);
  if (real === null) return;
  const inside = roots.some((root) => isWithin(real, tree.realPath(root) ?? root));
  if (!inside) throw refuse();
}

/** The target of a link by its text; null when `..` follows a name that may itself be a link. */
function follow(place: string, link: string): string | null {
  const parts = link.startsWith("/") ? [] : place.split("/").slice(1, -1);
  let down = link.startsWith("/");
  for (const word of link.split("/")) {
    if (word === "" || word === ".") continue;
    if (word !== "..") {
      down = true;
      parts.push(word);
    } else if (down || parts.pop() === undefined) return null;
  }
  return `/${parts.join("/")}`;
}
