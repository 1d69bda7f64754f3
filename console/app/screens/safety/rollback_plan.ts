import { call, type Replay } from "../../api.ts";
import { Failure, Loading } from "../../components/states.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { candidateOf } from "../../policy_candidate.ts";
import { ReplayView } from "./replay_view.ts";

const REPLAYED = 1_000;

/** The verdicts of the last commands under one version of a policy alone. It needs `system:read`. */
export function RollbackPlan({ id, version }: { readonly id: string; readonly version: string }) {
  const { data, error, again } = useData(async (signal) => {
    const { document } = await call("gitops.get_version", { params: { id, version }, signal });
    const policy = candidateOf(document);
    return await call("shield.evaluate", { body: { replay: REPLAYED, policy }, signal }) as Replay;
  }, [id, version]);
  if (error !== null) return html`<${Failure} error=${error} again=${again} />`;
  if (data === null) return html`<${Loading} />`;
  return html`
    <p class="soft">Judged by this version alone, without the other policies in force.</p>
    <${ReplayView} replay=${data} />
  `;
}
