import { sha256Hex } from "../text.ts";

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
