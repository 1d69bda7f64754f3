import type { Replay } from "../../../../core/client/client.ts";
import { Name } from "../../components/names.ts";
import { Time } from "../../components/time.ts";
import { VerdictBadge } from "../../components/verdict.ts";
import { VisibleText } from "../../components/visible_text.ts";
import { html } from "htm/preact";
import { addressOf } from "../../router.ts";

/** Changed verdicts that are shown; the rest is counted. */
const SHOWN = 50;

/** The verdicts of the last commands that a change of policy would change. */
export function ReplayView({ replay }: { readonly replay: Replay }) {
  const { changed, counts, replayed, skipped, complete } = replay;
  return html`
    <h3>${changed.length === 0
      ? `No verdict of the last ${replayed.toLocaleString()} commands would change`
      : `${changed.length.toLocaleString()} verdicts of the last ${replayed.toLocaleString()} commands would change`}</h3>
    <p class="soft">
      Of all: ${counts.allow} allowed, ${counts.approve} to be approved, ${counts.deny} denied.
      ${skipped > 0 && ` ${skipped} were left out, because their text is no longer kept.`}
      ${!complete && " The log has more rows than one replay reads."}
    </p>
    <ol class="entries">
      ${changed.slice(0, SHOWN).map((one) =>
        html`
          <li key=${one.command_id}>
            <p>
              <${VerdictBadge} verdict=${one.before} /> → <${VerdictBadge} verdict=${one
                .verdict} />${" "}
              <span class="soft">
                ${one.agent_id !== null && html`
                  <${Name} id=${one.agent_id} />,
                `}
                <${Time} at=${one.at} />
              </span>
            </p>
            <a href=${addressOf(`/commands/${one.command_id}`)}>
              <pre><${VisibleText} text=${one.command} /></pre>
            </a>
            <p class="soft">
              <${VisibleText} text=${one.explanation} />
            </p>
          </li>
        `
      )}
    </ol>
    ${changed.length > SHOWN && html`<p>And ${(changed.length - SHOWN).toLocaleString()} more.</p>`}
  `;
}
