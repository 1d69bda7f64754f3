import { useState } from "preact/hooks";
import { type Agent, call } from "../../../api.ts";
import { Badge } from "../../../components/badge.ts";
import { ConfirmButton, useChange } from "../../../components/form.ts";
import { Failure } from "../../../components/states.ts";
import { onOneLine } from "../../../components/visible_text.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";
import { may } from "../../../session.ts";

/** Says that the agent is outdated, and upgrades it where the relay can. */
export function UpgradeNote({ agent }: { readonly agent: Agent }) {
  const { id, name, version } = agent;
  const canUpgrade = agent.capabilities.includes("upgrade");
  const change = useChange();
  const [upgradeId, setUpgradeId] = useState<string | null>(null);
  const [refusal, setRefusal] = useState<string | null>(null);
  const start = async () => {
    const { upgrade, skipped } = await call("agent_upgrades.start", { body: { names: [id] } });
    setUpgradeId(upgrade?.id ?? null);
    setRefusal(skipped[0]?.reason ?? null);
  };
  return html`
    <section class="card notice">
      <p>
        ${onOneLine(name)} runs version ${onOneLine(version)}; the relay is newer.
        ${!canUpgrade && " Install the new version on the machine: it takes no upgrade from here."}
      </p>
      ${refusal !== null &&
        html`<p class="bad" role="alert">It cannot be upgraded from here: ${
          onOneLine(refusal)
        }</p>`}
      ${upgradeId !== null &&
        html`<${Progress} id=${upgradeId} again=${() => setUpgradeId(null)} />`}
      ${may("agents:admin") && canUpgrade && upgradeId === null && html`
        <${ConfirmButton}
          label="Upgrade the agent" change=${change} action=${start}
          question="The relay sends its program. Running commands get 10 seconds to end, and the agent restarts. If the new program does not come back, the one before runs again."
        />
      `}
    </section>
  `;
}

function Progress({ id, again }: {
  readonly id: string;
  /** Offers the upgrade once more. */
  readonly again: () => void;
}) {
  const { data, error, again: retry } = useData(
    (signal) => call("agent_upgrades.get", { params: { id }, signal }),
    [id],
    { types: ["upgrade", "agent"] },
  );
  if (error !== null) return html`<${Failure} error=${error} again=${retry} />`;
  const agent = data?.agents[0];
  if (agent === undefined) return null;
  return html`
    <p role="status">Upgrade to ${data!.version}: <${Badge} state=${agent.status} />
      ${agent.error !== null && html`<span class="bad"> ${onOneLine(agent.error)}</span>`}</p>
    ${agent.status === "failed" && html`
      <p><button type="button" onClick=${again}>Offer the upgrade again</button></p>
    `}
  `;
}
