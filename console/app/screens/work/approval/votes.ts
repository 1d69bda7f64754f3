import type { ReadApproval } from "../../../../../core/client/client.ts";
import { Badge } from "../../../components/badge.ts";
import { Name } from "../../../components/names.ts";
import { Time } from "../../../components/time.ts";
import { VisibleText } from "../../../components/visible_text.ts";
import { html } from "htm/preact";

/** Who decided so far, and how many are needed. */
export function Votes({ approval: { decisions, required, roles, status } }: {
  readonly approval: ReadApproval;
}) {
  const given = decisions.filter(({ decision }) => decision === "approved").length;
  return html`
    <section class="card">
      <h2>Votes</h2>
      <p>
        <strong>${given} of ${required}</strong> ${required === 1 ? "approval" : "approvals"}.
        ${" "}${status === "pending" && "One rejection ends it."} ${roles.length > 0 && html`
          <span>Only ${roles.join(" or ")} may decide.</span>
        `}
      </p>
      <ul>
        ${decisions.map(({ actor, user_id, decision, reason, self_approved, at }) =>
          html`
            <li>
              <${Badge} state=${decision} /> by <${Name} id=${user_id} />
              ${actor !== user_id && html`
                with <${Name} id=${actor} />
              `}
              ${" "}<span class="soft"><${Time} at=${at} /></span>
              ${self_approved && html`
                <${Badge} state="own request" tone="warn" />
              `}
              ${reason !== null && reason !== "" && html`
                <blockquote>
                  <${VisibleText} text=${reason} />
                </blockquote>
              `}
            </li>
          `
        )}
      </ul>
    </section>
  `;
}
