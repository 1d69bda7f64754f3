import { z } from "zod";
import { programForm } from "../../../protocol/protocol.ts";
import type { AgentTree } from "../interfaces.ts";

const Stored = z.object({
  /** The upgrade that brought it. */
  job_id: z.string(),
  version: z.string(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  form: programForm.exclude(["source"]),
});
const Marker = z.object({
  trusted: Stored.extend({ ran: z.boolean().default(true) }).nullable(),
  candidate: Stored.extend({ started: z.boolean() }).nullable(),
  failed: z.object({ job_id: z.string(), message: z.string() }).nullable(),
});

/** A program in the state directory, which an upgrade brought. */
export type StoredProgram = z.infer<typeof Stored>;

/**
 * The file that says which program runs. It is replaced in one step and synced, so that after a power cut it holds the
 * state before or after a change.
 */
export interface ProgramMarker {
  /**
   * The program that runs from now on; null for the installed one. `ran` once its newest start was welcomed by the relay,
   * or could not reach it.
   */
  readonly trusted: (StoredProgram & { readonly ran: boolean }) | null;
  /** A program that has not linked yet; `started` once it was tried. */
  readonly candidate: (StoredProgram & { readonly started: boolean }) | null;
  /** The last upgrade whose program was given up. */
  readonly failed: { readonly job_id: string; readonly message: string } | null;
}

/** An agent with its installed program. */
const INSTALLED: ProgramMarker = { trusted: null, candidate: null, failed: null };

/** The programs in a state directory. */
export interface ProgramStore {
  readonly stateDir: string;
  readonly tree: AgentTree;
}

/** The marker; that of an installed program if there is none or it is damaged. */
export function readMarker(store: ProgramStore): ProgramMarker {
  try {
    return parseMarker(store);
  } catch {
    return INSTALLED;
  }
}

/** @throws when the file cannot be read or is damaged */
function parseMarker({ stateDir, tree }: ProgramStore): ProgramMarker {
  const path = markerPath(stateDir);
  if (tree.look(path) === null) return INSTALLED;
  return Marker.parse(JSON.parse(new TextDecoder().decode(tree.read(path))));
}

/** Replaces the marker. @throws the system's errors */
export function writeMarker({ stateDir, tree }: ProgramStore, marker: ProgramMarker): void {
  const path = markerPath(stateDir);
  const fresh = `${path}.new`;
  if (tree.look(fresh) !== null) tree.remove(fresh);
  tree.write(fresh, new TextEncoder().encode(`${JSON.stringify(marker)}\n`), 0o600);
  tree.rename(fresh, path);
}

const markerPath = (stateDir: string) => `${stateDir}/program.json`;

/** The file of a stored program. */
export function programPath(
  { stateDir }: Pick<ProgramStore, "stateDir">,
  { sha256, form }: Pick<StoredProgram, "sha256" | "form">,
): string {
  const suffix = form === "bundle" ? ".js" : Deno.build.os === "windows" ? ".exe" : "";
  return `${stateDir}/program-${sha256.slice(0, 16)}${suffix}`;
}

/** True while a program's file is what its digest says. */
export function isWhole(store: ProgramStore, program: StoredProgram): boolean {
  try {
    return store.tree.sha256(programPath(store, program)) === program.sha256;
  } catch {
    return false;
  }
}

/** Removes a program's file unless the marker still names it. */
export function dropProgram(store: ProgramStore, program: StoredProgram | null): void {
  const { trusted, candidate } = readMarker(store);
  if (program === null || [trusted, candidate].some((kept) => kept?.sha256 === program.sha256)) {
    return;
  }
  const path = programPath(store, program);
  if (store.tree.look(path) !== null) store.tree.remove(path);
}

/** The names of programs, and of one that did not arrive. */
const PROGRAM_FILE = /^program(\.new|-[0-9a-f]{16}(\.js|\.exe)?)$/;

/**
 * Removes the programs that the marker does not name: an upgrade that was killed leaves them. Removes nothing while the
 * marker cannot be read. @throws the system's errors
 */
export function dropUnnamed(store: ProgramStore): void {
  const { stateDir, tree } = store;
  // The first start makes the directory later.
  if (tree.look(stateDir) === null) return;
  const { trusted, candidate } = parseMarker(store);
  const named = [trusted, candidate].map((kept) => kept && programPath(store, kept));
  for (const name of tree.list(stateDir)) {
    const path = `${stateDir}/${name}`;
    if (PROGRAM_FILE.test(name) && !named.includes(path)) tree.remove(path);
  }
}
