import { hash } from "node:crypto";
import { RecentMap } from "../../../kv/store/recent.ts";

/** Events hold the text of a command up to this length, and the digest of a longer one. */
const TEXT_MAX = 2_000;

/** The members of an event that name a command; an event row is bounded, so long text is cut. */
export function textForEvent(
  command: string,
): { command: string; command_truncated?: true; command_sha256?: string } {
  if (command.length <= TEXT_MAX) return { command };
  return {
    // The cut may split a surrogate pair.
    command: command.slice(0, TEXT_MAX).toWellFormed(),
    command_truncated: true,
    command_sha256: hash("sha256", command),
  };
}

/** Programs send the same short commands repeatedly. */
const REMEMBERED_MAX = 4_096;
const REMEMBERED_CHARS_MAX = 1_024;
const digests = new RecentMap<string>(REMEMBERED_MAX);

/** The SHA-256 of a command's UTF-8 bytes, hex. */
export function commandSha256(command: string): string {
  if (command.length > REMEMBERED_CHARS_MAX) return hash("sha256", command);
  const remembered = digests.get(command);
  if (remembered !== undefined) return remembered;
  const digest = hash("sha256", command);
  digests.set(command, digest);
  return digest;
}
