import {
  type CheckpointFrame,
  keyText,
  readChain,
  readKey,
  readStatement,
  verifiesNote,
  verifyConsistency,
} from "../../protocol/protocol.ts";
import type { AgentFiles } from "./interfaces.ts";

/** Why a checkpoint was refused. */
export type Refusal = "another_key" | "unproven" | "rolled_back" | "rewritten";

const notePath = (stateDir: string) => `${stateDir}/audit-checkpoint`;
const keyPath = (stateDir: string) => `${stateDir}/audit-key`;

type Kept = Pick<AgentFiles, "read" | "write">;

/**
 * Wraps files so that a text that cannot be written, for example on a full disk, is kept in memory until it can: the
 * relay assumes that it is stored. `failed` receives the error.
 */
export function remembering(files: Kept, failed: (error: unknown) => void): Kept {
  const unwritten = new Map<string, string>();
  return {
    read: (path) => unwritten.get(path) ?? files.read(path),
    write(path, text) {
      try {
        files.write(path, text);
        unwritten.delete(path);
      } catch (error) {
        unwritten.set(path, text);
        failed(error);
      }
    },
  };
}

/** The size of the audit log in the stored checkpoint. */
export function witnessedSize(stateDir: string, files: Kept): number {
  return readStatement(files.read(notePath(stateDir)) ?? "")?.size ?? 0;
}

/** Forgets the key and the checkpoint of a log, because the relay was set up anew. */
export function forgetCheckpoints(stateDir: string, files: Kept): void {
  for (const path of [keyPath(stateDir), notePath(stateDir)]) {
    if (files.read(path)) files.write(path, "");
  }
}

/**
 * Stores the newest checkpoint of the relay's audit log. A checkpoint that contradicts the stored one is refused.
 * The key must be that of the first checkpoint, or one that it handed over to.
 */
export function keepCheckpoint(
  stateDir: string,
  { note, public_key, proof, handovers = [] }: CheckpointFrame,
  files: Kept,
): Refusal | null {
  const pinned = files.read(keyPath(stateDir))?.trim() || null;
  if (pinned !== null && pinned !== public_key) {
    const chain = readChain(handovers, public_key);
    if (!chain?.some(({ from }) => keyText(from) === pinned)) return "another_key";
  }
  const key = readKey(public_key);
  const now = readStatement(note);
  // The agent signs what it keeps, so the text must be one that nothing else it signs can look like.
  const ofLog = now !== null && now.origin.startsWith("relay/") && now.origin === key?.name;
  if (key === null || !ofLog || !verifiesNote(note, key)) return "unproven";
  const before = readStatement(files.read(notePath(stateDir)) ?? "");
  if (before !== null) {
    if (now.size < before.size) return "rolled_back";
    const path = proof.map((hash) => Uint8Array.fromBase64(hash));
    if (!verifyConsistency(before.size, now.size, before.root, now.root, path)) return "rewritten";
  }
  if (pinned !== public_key) files.write(keyPath(stateDir), `${public_key}\n`);
  files.write(notePath(stateDir), note);
  return null;
}
