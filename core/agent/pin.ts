import type { AgentFiles } from "./port.ts";

/**
 * Remembers the organization's verdict key at first contact. False when the relay now shows another
 * one: then somebody else answers under its address, or the state directory belongs to another one.
 */
export function pinVerdictKey(
  stateDir: string,
  verdictKey: string,
  files: AgentFiles,
): boolean {
  const path = `${stateDir}/verdict-key`;
  const pinned = files.read(path)?.trim();
  if (pinned === undefined || pinned === "") {
    files.write(path, `${verdictKey}\n`);
    return true;
  }
  return pinned === verdictKey;
}
