import { call, type Invitation } from "../../api.ts";
import { Badge } from "../../components/badge.ts";
import { ConfirmButton, useChange } from "../../components/form.ts";
import { Failure, Loading } from "../../components/states.ts";
import { Time } from "../../components/time.ts";
import { VisibleText } from "../../components/visible_text.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { may } from "../../session.ts";

const SHOWN = 50;

/** The newest invitations. */
export function Invitations() {
  const { data, error, again } = useData(
    (signal) => call("invitations.list", { query: { limit: SHOWN }, signal }),
    [],
    { types: ["invitation", "user"] },
  );
  if (data === null) {
    return error === null
      ? html`<${Loading} />`
      : html`<${Failure} error=${error} again=${again} />`;
  }
  if (data.invitations.length === 0) return html`<p class="soft">Nobody is invited.</p>`;
  return html`
    ${error !== null && html`<${Failure} error=${error} again=${again} />`}
    <ul class="rows">
      ${data.invitations.map((invitation) =>
        html`<${Row} key=${invitation.id} invitation=${invitation} again=${again} />`
      )}
    </ul>
    ${data.pagination.total > SHOWN &&
      html`<p class="soft">and ${data.pagination.total - SHOWN} older ones</p>`}
  `;
}

function Row({ invitation: { id, email, roles, status, expires_at, accepted_at }, again }: {
  readonly invitation: Invitation;
  readonly again: () => void;
}) {
  const change = useChange();
  const withdraw = async () => {
    await call("invitations.withdraw", { params: { id } });
    again();
  };
  return html`
    <li>
      <p>
        ${email === null
          ? "anybody with the link"
          : html`<${VisibleText} text=${email} />`} as${" "}
        ${roles.map((role) => html`<span class="label">${role}</span>${" "}`)}
        <span class="soft">
          ${accepted_at === null ? "expires " : "accepted "}
          <${Time} at=${accepted_at ?? expires_at} />
        </span>
      </p>
      <${Badge} state=${status} tone=${status === "open" ? "busy" : undefined} />
      ${status === "open" && may("system:write") && html`
        <${ConfirmButton} label="Withdraw" change=${change} action=${withdraw}
          question="The link of this invitation stops working." />
      `}
    </li>
  `;
}
