import { RecentMap } from "../../kv/store/recent.ts";
import { sha256Hex } from "../codec/text.ts";

/** Events name a command by its text up to here, and always by its digest. */
const TEXT_MAX = 2_000;

/** What an event says of a command's text: an event row is bounded, a command may be long. */
export function textForEvent(
  command: string,
): { command: string; command_truncated?: true; command_sha256?: string } {
  if (command.length <= TEXT_MAX) return { command };
  return {
    // The cut may fall into a character of two units.
    command: command.slice(0, TEXT_MAX).toWellFormed(),
    command_truncated: true,
    command_sha256: sha256Hex(command),
  };
}

/** Programs send the same short commands again and again. */
const REMEMBERED_MAX = 4_096;
const REMEMBERED_CHARS_MAX = 1_024;
const digests = new RecentMap<string>(REMEMBERED_MAX);

/** The SHA-256 of a command's UTF-8 bytes, hex. */
export function commandSha256(command: string): string {
  if (command.length > REMEMBERED_CHARS_MAX) return sha256Hex(command);
  const remembered = digests.get(command);
  if (remembered !== undefined) return remembered;
  const digest = sha256Hex(command);
  digests.set(command, digest);
  return digest;
}
