import { useState } from "preact/hooks";
import { type Agent, call } from "../../../api.ts";
import { Badge } from "../../../components/badge.ts";
import { ConfirmButton, useChange } from "../../../components/form.ts";
import { onOneLine } from "../../../components/visible_text.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";
import { may } from "../../../session.ts";

/** Says that the agent is outdated, and upgrades it where the relay can. */
export function UpgradeNote({ agent: { id, name, version } }: { readonly agent: Agent }) {
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
      <p>${onOneLine(name)} runs version ${onOneLine(version)}; the relay is newer.</p>
      ${refusal !== null &&
        html`<p class="bad" role="alert">It cannot be upgraded from here: ${
          onOneLine(refusal)
        }</p>`}
      ${upgradeId !== null && html`<${Progress} id=${upgradeId} />`}
      ${may("agents:admin") && upgradeId === null && html`
        <${ConfirmButton}
          label="Upgrade the agent" change=${change} action=${start}
          question="The relay sends its program. Running commands get 10 seconds to end, and the agent restarts. If the new program does not come back, the one before runs again."
        />
      `}
    </section>
  `;
}

function Progress({ id }: { readonly id: string }) {
  const { data } = useData(
    (signal) => call("agent_upgrades.get", { params: { id }, signal }),
    [id],
    { types: ["upgrade", "agent"] },
  );
  const agent = data?.agents[0];
  if (agent === undefined) return null;
  return html`
    <p role="status">Upgrade to ${data!.version}: <${Badge} state=${agent.status} />
      ${agent.error !== null && html`<span class="bad"> ${onOneLine(agent.error)}</span>`}</p>
  `;
}
