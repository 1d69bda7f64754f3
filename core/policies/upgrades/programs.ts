import type { AgentRecord } from "../../../kv/records/agent.ts";
import type { AgentProgram, AgentPrograms } from "../../ports/ports.ts";
import { ANY_PLATFORM, isOlder, VERSION } from "../../protocol/protocol.ts";

/** The program of a version for an agent, and the platform that it is for; null when the relay has none. */
export async function programFor(
  programs: AgentPrograms,
  version: string,
  { program, platform: own }: Pick<AgentRecord, "program" | "platform">,
): Promise<{ readonly platform: string; readonly program: AgentProgram } | null> {
  const platform = program?.form === "bundle" ? ANY_PLATFORM : own;
  const found = await programs.find(version, platform);
  return found && { platform, program: found };
}

/** Why an agent cannot be upgraded over its link, however it is asked; null when it can be. */
export function obstacleOfForm(
  { program, version: own }: Pick<AgentRecord, "program" | "version">,
  version: string,
): string | null {
  if (program === null) {
    return `version ${own} cannot be upgraded over its link: install ${version} there once`;
  }
  return program.form === "source"
    ? "it is installed from source: update its checkout and restart it there"
    : null;
}

/** Why an agent cannot be upgraded now; `current` when it needs no upgrade, and null when it can be. */
export async function obstacleOf(
  programs: AgentPrograms,
  agent: AgentRecord,
): Promise<{ readonly current: boolean; readonly reason: string } | null> {
  if (!isOlder(agent.version, VERSION)) {
    return { current: true, reason: `it has version ${agent.version}` };
  }
  const reason = obstacleOfForm(agent, VERSION) ??
    (agent.instance === null
      ? "it is offline"
      : await programFor(programs, VERSION, agent) === null
      ? `the relay has no program for ${
        agent.program?.form === "bundle" ? "bundles" : agent.platform
      }: see RELAY_AGENT_PROGRAMS`
      : null);
  return reason === null ? null : { current: false, reason };
}
