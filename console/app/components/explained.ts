import type { EvaluatedCommand, ShieldLayer, Span } from "../api.ts";
import { html } from "../html.ts";
import { Badge } from "./badge.ts";
import { VisibleText } from "./visible_text.ts";

/** A command with the part that the worst finding concerns marked. */
export function MarkedCommand({ command, span }: {
  readonly command: string;
  readonly span: Span | null;
}) {
  if (span === null) return html`<pre class="terminal"><${VisibleText} text=${command} /></pre>`;
  const { start, end } = span;
  return html`
    <pre class="terminal marked"><${VisibleText} text=${command.slice(
      0,
      start,
    )} /><mark><${VisibleText}
      text=${command.slice(start, end)} /></mark><${VisibleText} text=${command.slice(end)} /></pre>
  `;
}

const LAYERS: Readonly<Record<ShieldLayer, string>> = {
  policy: "Policy",
  patterns: "Patterns",
  structure: "Structure",
  behaviour: "Behaviour",
};

/** The layer that a rule is of, by its id. */
export function layerOf(rule: string): ShieldLayer {
  const first = rule.slice(0, Math.max(0, rule.indexOf(".")));
  return first in LAYERS ? first as ShieldLayer : "patterns";
}

/** What the shield says about a command, and why. */
export function Explained({ result, about = new Map() }: {
  readonly result: EvaluatedCommand;
  /** What each rule finds, by its id. */
  readonly about?: ReadonlyMap<string, string>;
}) {
  const { command, verdict, risk_score, explanation, safer_alternative, threats, layer } = result;
  return html`
    <${MarkedCommand} command=${command} span=${result.span} />
    <p class="verdict">
      <${Badge} state=${verdict} />${" "}
      <meter min="0" max="100" low="30" high="70" optimum="0" value=${risk_score}
        aria-label="Risk score" />${" "}
      <span>score ${risk_score}</span>
    </p>
    <p>${explanation}</p>
    ${safer_alternative !== null &&
      html`<p class="safer"><strong>Safer:</strong> ${safer_alternative}</p>`}
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
