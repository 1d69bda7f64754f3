import { hash } from "node:crypto";
import {
  type Archive,
  type ArchiveEntry,
  POLICY_ROOT,
  type RestorePlan,
  unpackArchive,
} from "../../../protocol/protocol.ts";
import { type Configuration, mustStay, placeOf, TEMPORARY_SUFFIX, walk } from "./configuration.ts";
import { POLICY_FILE } from "../policies.ts";

/** The archive of a running restore: while it exists, a restart completes the restore. */
const COMMITTED = "restore.archive";
const CHANGES_SHOWN = 50;

interface Step {
  readonly action: "create" | "replace" | "remove";
  readonly place: string;
  readonly entry: ArchiveEntry | null;
  readonly content: Uint8Array;
}

/** Plans a restore. @throws {Error} when it would write outside the listed paths */
export function planRestore(
  configuration: Configuration,
  archive: Archive,
): { plan: RestorePlan; steps: Step[] } {
  const steps: Step[] = [];
  const kept = new Set<string>();
  for (const root of archive.head.roots) {
    if (!configuration.roots.includes(root)) {
      throw new Error(`the archive is of ${root}, which is not listed here`);
    }
  }
  archive.head.entries.forEach((entry, at) => {
    mustBeListed(configuration, archive, entry);
    const place = placeOf(configuration, entry);
    if (kept.has(place)) throw new Error(`the archive contains ${place} twice`);
    kept.add(place);
    const content = archive.contents[at]!;
    const action = changeOf(configuration, place, entry);
    if (action !== null) steps.push({ action, place, entry, content });
  });
  for (const place of kept) {
    const above = foldersAbove(place).find((folder) => kept.has(folder));
    if (above !== undefined) throw new Error(`the archive holds ${place} below the file ${above}`);
  }
  for (const { root, place } of walk(configuration)) {
    if (!archive.head.roots.includes(root) || kept.has(place)) continue;
    steps.push({ action: "remove", place, entry: null, content: new Uint8Array() });
  }
  const count = (action: Step["action"]) => steps.filter((step) => step.action === action).length;
  const [create, replace, remove] = [count("create"), count("replace"), count("remove")];
  const changes = steps.slice(0, CHANGES_SHOWN).map(({ action, place }) => ({
    action,
    path: place,
  }));
  return {
    plan: { create, replace, remove, unchanged: kept.size - create - replace, changes },
    steps,
  };
}

/** The parent folders of a path, except the topmost. */
const foldersAbove = (path: string): string[] => {
  const words = path.split("/");
  return words.slice(2).map((_, n) => words.slice(0, n + 2).join("/"));
};

/** @throws {Error} for an entry outside the listed paths */
function mustBeListed(configuration: Configuration, { head }: Archive, entry: ArchiveEntry): void {
  const { root, path, link } = entry;
  const { tree } = configuration;
  if (root === POLICY_ROOT) {
    if (path === POLICY_FILE && link === null) return;
    throw new Error("the archive holds a policy under another name");
  }
  const words = path === "" ? [] : path.split("/");
  const place = placeOf(configuration, entry);
  const odd = words.some((word) =>
    word === "" || word === "." || word === ".." || /[\0\\]/.test(word)
  );
  if (!head.roots.includes(root) || odd || place.endsWith(TEMPORARY_SUFFIX)) {
    throw new Error(`the archive's ${root}/${path} leaves the listed paths`);
  }
  for (let n = 1; n < words.length; n++) {
    const folder = placeOf(configuration, { root, path: words.slice(0, n).join("/") });
    const found = tree.look(folder);
    if (found !== null && found.kind !== "folder") {
      throw new Error(`${folder} is a ${found.kind} where a folder must be: remove it first`);
    }
  }
  if (link !== null) mustStay(configuration, place, link);
}

function changeOf(
  { tree }: Configuration,
  place: string,
  { link, mode, sha256, bytes, path }: ArchiveEntry,
): "create" | "replace" | null {
  const found = tree.look(place);
  if (found === null) return "create";
  if (found.kind === "folder" || found.kind === "other" || (path === "" && found.kind === "link")) {
    throw new Error(`${place} is a ${found.kind} where a file must be: remove it first`);
  }
  if (link !== null) {
    return found.kind === "link" && tree.readLink(place) === link ? null : "replace";
  }
  const same = found.kind === "file" && found.mode === mode && found.bytes === bytes &&
    hash("sha256", tree.read(place)) === sha256;
  return same ? null : "replace";
}

/**
 * Restores an archive. All files are first written aside, then the archive itself is stored. A kill before that changes
 * nothing; after it, the next start completes the restore.
 * @throws {Error} when the archive is refused or cannot be written; then nothing has changed
 */
export function restoreArchive(configuration: Configuration, bytes: Uint8Array): RestorePlan {
  const { tree, stateDir } = configuration;
  const { plan, steps } = planRestore(configuration, unpackArchive(bytes));
  if (steps.length === 0) return plan;
  try {
    for (const step of steps) writeAside(configuration, step);
    const kept = `${stateDir}/${COMMITTED}`;
    clear(configuration, `${kept}${TEMPORARY_SUFFIX}`);
    tree.write(`${kept}${TEMPORARY_SUFFIX}`, bytes, 0o600);
    tree.rename(`${kept}${TEMPORARY_SUFFIX}`, kept);
  } catch (error) {
    for (const step of steps) dropAside(configuration, step);
    throw error;
  }
  finish(configuration, steps);
  return plan;
}

/** Completes an interrupted restore, or removes one that was not yet stored. */
export function recoverRestore(configuration: Configuration): "completed" | "nothing" {
  const { tree, stateDir } = configuration;
  const kept = `${stateDir}/${COMMITTED}`;
  if (tree.look(kept) === null) {
    const left = leftAside(configuration);
    const ofRoots = configuration.roots.map((root) => `${root}${TEMPORARY_SUFFIX}`);
    for (
      const place of new Set([...left, ...ofRoots, `${stateDir}/${POLICY_FILE}${TEMPORARY_SUFFIX}`])
    ) {
      if (tree.look(place) !== null) tree.remove(place);
    }
    return "nothing";
  }
  const { steps } = planRestore(configuration, unpackArchive(tree.read(kept)));
  for (const step of steps) writeAside(configuration, step);
  finish(configuration, steps);
  return "completed";
}

/** Temporary files that a kill left behind. Unreadable folders are skipped. */
function leftAside(configuration: Configuration): string[] {
  try {
    return walk(configuration, "only").map(({ place }) => place);
  } catch {
    return [];
  }
}

function writeAside(configuration: Configuration, { place, entry, content }: Step): void {
  if (entry === null) return;
  const { tree } = configuration;
  // The existing entry may be a link that another user made: remove it, and never write through it.
  clear(configuration, `${place}${TEMPORARY_SUFFIX}`);
  if (entry.link === null) tree.write(`${place}${TEMPORARY_SUFFIX}`, content, entry.mode);
  else tree.link(`${place}${TEMPORARY_SUFFIX}`, entry.link);
}

function dropAside(configuration: Configuration, { place, entry }: Step): void {
  if (entry !== null) clear(configuration, `${place}${TEMPORARY_SUFFIX}`);
}

function clear({ tree }: Configuration, place: string): void {
  if (tree.look(place) !== null) tree.remove(place);
}

function finish({ tree, stateDir }: Configuration, steps: readonly Step[]): void {
  for (const { action, place } of steps) {
    if (action === "remove") tree.remove(place);
    else tree.rename(`${place}${TEMPORARY_SUFFIX}`, place);
  }
  tree.remove(`${stateDir}/${COMMITTED}`);
}
