import type { EvaluatedCommand, ShieldLayer } from "../../../../core/client/client.ts";
import { layerOf, LAYERS } from "../../layers.ts";
import { html } from "htm/preact";
import { ExactCommand } from "../../components/exact_command.ts";
import { Risk, VerdictBadge } from "../../components/verdict.ts";
import { VisibleText } from "../../components/visible_text.ts";

/** What the shield says about a command, and why. */
export function Explained({ result, about = new Map() }: {
  readonly result: EvaluatedCommand;
  /** What each rule finds, by its id. */
  readonly about?: ReadonlyMap<string, string>;
}) {
  const { command, verdict, risk_score, explanation, safer_alternative, threats, layer } = result;
  return html`
    <${ExactCommand} text=${command} span=${result.span} />
    <p class="actions">
      <${VerdictBadge} verdict=${verdict} />
      <${Risk} score=${risk_score} />
    </p>
    <p>
      <${VisibleText} text=${explanation} />
    </p>
    ${safer_alternative !== null &&
      html`<p class="safer"><strong>Safer:</strong> <${VisibleText} text=${safer_alternative} /></p>`}
    ${threats.length > 0 && html`
      <p class="soft">Harm: ${threats.join(", ").replaceAll("_", " ")}</p>
    `}
    <dl class="facts">
      ${(Object.keys(LAYERS) as ShieldLayer[]).map((one) => {
        const rules = result.rule_ids.filter((id) => layerOf(id) === one);
        return html`
          <dt>${LAYERS[one]}${one === layer && rules.length > 0 && " (decides)"}</dt>
          <dd>
            ${rules.length === 0 && html`<span class="soft">nothing</span>`}
            ${rules.map((id) =>
              html`
                <div><code>${id}</code>${" "}${about.has(id) && html`
                  <span class="soft">${about.get(id)}</span>
                `}</div>
              `
            )}
          </dd>
        `;
      })}
    </dl>
  `;
}
