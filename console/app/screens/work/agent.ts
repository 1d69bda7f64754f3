import { useRef } from "preact/hooks";
import { type Agent, call } from "../../api.ts";
import { Badge } from "../../components/badge.ts";
import { useNames } from "../../components/names.ts";
import { Failure, Loading } from "../../components/states.ts";
import { Time } from "../../components/time.ts";
import { onOneLine } from "../../components/visible_text.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { addressOf } from "../../router.ts";
import { may } from "../../session.ts";
import { AgentCommands } from "./agent/commands.ts";
import { DriftCard } from "./agent/drift.ts";
import { GuardCard } from "./agent/guard.ts";
import { LabelsCard } from "./agent/labels.ts";
import { ManageCard } from "./agent/manage.ts";
import { UpgradeNote } from "./agent/upgrade.ts";

/** One agent: what it is, what holds for it, what it ran last, and what can be done with it. */
export default function AgentScreen({ id = "" }: Readonly<Record<string, string>>) {
  useNames();
  // The address may have a name, which a rename takes away.
  const known = useRef(id);
  const { data: agent, error, again } = useData(
    async (signal) => {
      const agent = await call("agents.get", { params: { id: known.current }, signal });
      known.current = agent.id;
      return agent;
    },
    [id],
    id.startsWith("agt_") ? { types: ["agent"], id } : { types: ["agent"] },
  );
  if (agent === null) {
    return error === null
      ? html`<${Loading} />`
      : html`<${Failure} error=${error} again=${again} />`;
  }
  return html`
    <div class="title">
      <h1>${onOneLine(agent.name)} <${Badge} state=${agent.status} /></h1>
      ${may("agents:write") && html`
        <a class="button primary" href=${addressOf("/run", { agent: agent.id })}>Run a command</a>
      `}
    </div>
    ${error !== null && html`<${Failure} error=${error} again=${again} />`}
    ${agent.outdated && html`<${UpgradeNote} agent=${agent} />`}
    <div class="cards">
      <${Facts} agent=${agent} />
      <${LabelsCard} agent=${agent} />
      ${may("policy:read") && html`<${GuardCard} agentId=${agent.id} />`}
      ${may("policy:read") && html`<${DriftCard} key=${agent.id} agentId=${agent.id} />`}
    </div>
    <${AgentCommands} agentId=${agent.id} />
    ${may("agents:admin") && html`<${ManageCard} agent=${agent} />`}
  `;
}

function Facts({ agent }: { readonly agent: Agent }) {
  const { version, outdated, platform, hostname, program, display_name, reported_status } = agent;
  const abilities = agent.capabilities.map((one) => CAPABILITIES[one]);
  return html`
    <section class="card">
      <h2>Machine</h2>
      <dl class="facts">
        <dt>Last seen</dt><dd><${Time} at=${agent.last_seen_at} /></dd>
        <dt>${agent.status === "offline" ? "Connected last" : "Connected since"}</dt>
        <dd><${Time} at=${agent.connected_at} /></dd>
        ${reported_status !== null && html`
          <dt>Says of itself</dt>
          <dd>
            <${Badge} state=${reported_status} />
          </dd>
        `}
        <dt>Version</dt><dd>${onOneLine(version)} ${outdated &&
          html`<${Badge} state="outdated" tone="warn" />`}</dd>
        <dt>Platform</dt><dd>${onOneLine(platform)}</dd>
        <dt>Host name</dt><dd>${onOneLine(hostname)}</dd>
        ${display_name !== null && html`
          <dt>Was to be called</dt>
          <dd>${onOneLine(display_name)}</dd>
        `}
        <dt>Installed as</dt><dd>${program === null ? "not reported" : PROGRAMS[program]}</dd>
        <dt>Capabilities</dt><dd>${abilities.join("; ") || "none reported"}</dd>
        <dt>Registered</dt><dd><${Time} at=${agent.created_at} /></dd>
        <dt>Id</dt><dd><code>${agent.id}</code></dd>
      </dl>
    </section>
  `;
}

const CAPABILITIES: Readonly<Record<Agent["capabilities"][number], string>> = {
  upgrade: "takes upgrades from the relay",
  key_handover: "follows a rotation of the verdict key",
};

const PROGRAMS: Readonly<Record<NonNullable<Agent["program"]>, string>> = {
  executable: "an executable",
  bundle: "a bundle",
  source: "source code; upgrade it with Git on the machine",
};
