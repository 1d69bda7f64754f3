import type { ShieldResult } from "../../../core/client/client.ts";
import { html } from "htm/preact";
import { Badge } from "./badge.ts";
import { VisibleText } from "./visible_text.ts";

/** The words for a verdict. */
const VERDICTS: Readonly<Record<ShieldResult["verdict"], string>> = {
  allow: "allowed",
  approve: "needs approval",
  deny: "denied",
};
const TONES = { allow: "good", approve: "warn", deny: "bad" } as const;

/** A verdict as a badge. */
export const VerdictBadge = ({ verdict }: { readonly verdict: ShieldResult["verdict"] }) =>
  html`<${Badge} state=${VERDICTS[verdict]} tone=${TONES[verdict]} />`;

/** Why the shield judged a command as it did. */
export function Verdict({ result }: { readonly result: ShieldResult }) {
  const {
    verdict,
    risk_score,
    explanation,
    rule_ids,
    threats,
    layer,
    safer_alternative,
    watched = [],
  } = result;
  return html`
    <div class="verdict">
      <p class="actions">
        <${VerdictBadge} verdict=${verdict} />
        <${Risk} score=${risk_score} />
      </p>
      <p><${VisibleText} text=${explanation} /></p>
      ${safer_alternative !== null && html`
        <p><strong>Safer:</strong> <${VisibleText} text=${safer_alternative} /></p>
      `}
      ${rule_ids.length > 0 && html`
        <dl class="facts">
          <dt>Rules</dt>
          <dd>${rule_ids.map((rule) =>
            html`
              <span class="label">${rule}</span>
            `
          )}</dd>
          <dt>Harm</dt>
          <dd>${threats.map((threat) => threat.replaceAll("_", " ")).join(", ")}</dd>
          <dt>Layer</dt>
          <dd>${layer}</dd>
        </dl>
      `}
      ${watched.length > 0 && html`
        <p class="soft">Only watching: ${watched.join(", ")}</p>
      `}
    </div>
  `;
}

/** A score of 100, as a number and a bar. */
export function Risk({ score }: { readonly score: number }) {
  return html`
    <span class="risk">
      Risk ${score} of 100
      <meter min="0" max="100" low="30" high="70" optimum="0" value=${score} aria-hidden="true"></meter>
    </span>
  `;
}
