import { hash } from "node:crypto";
import { systemTree } from "../../core/cli/agent/tree.ts";
import {
  type ProgramMarker,
  programPath,
  type StoredProgram,
  writeMarker,
} from "../../core/cli/agent/upgrade/marker.ts";

/** The names in a folder. */
export const filesOf = (stateDir: string) => systemTree.list(stateDir);

/** Puts a program into the folder. */
export function put(stateDir: string, version: string, job_id = `upj_${version}`): StoredProgram {
  const program: StoredProgram = {
    job_id,
    version,
    sha256: hash("sha256", version),
    form: "bundle",
  };
  Deno.writeTextFileSync(programPath({ stateDir }, program), version);
  return program;
}

/** Writes a marker. */
export const mark = (stateDir: string, marker: Partial<ProgramMarker>) =>
  writeMarker({ stateDir, tree: systemTree }, {
    trusted: null,
    candidate: null,
    failed: null,
    ...marker,
  });
