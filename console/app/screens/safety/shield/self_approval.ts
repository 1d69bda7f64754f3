import { call, type PendingSelfApproval, type ShieldSettings } from "../../../api.ts";
import { Badge } from "../../../components/badge.ts";
import { ChangeError, ConfirmButton, useChange } from "../../../components/form.ts";
import { Name } from "../../../components/names.ts";
import { Time, TimeLeft } from "../../../components/time.ts";
import { html } from "htm/preact";
import { may, me } from "../../../session.ts";

/** Whether people may approve their own commands. To allow it takes a second administrator, if there is one. */
export function SelfApproval({ settings, changed }: {
  readonly settings: ShieldSettings;
  readonly changed: () => void;
}) {
  const change = useChange();
  const { approvals: { self_approval }, pending_self_approval: pending } = settings;
  const set = (allowed: boolean) => async () => {
    await call("shield.change", { body: { approvals: { self_approval: allowed } } });
    changed();
  };
  return html`
    <section class="card">
      <h2>Approval of one's own commands</h2>
      <p>
        <${Badge} state=${self_approval ? "allowed" : "not allowed"}
          tone=${self_approval ? "warn" : "good"} />${" "}
        ${self_approval
          ? "Whoever asks for a command may approve it too."
          : "Somebody else has to approve a command."}
      </p>
      ${pending !== null && html`<${Pending} pending=${pending} changed=${changed} />`}
      ${may("system:write") && pending === null && html`
        <${ConfirmButton} change=${change} action=${set(!self_approval)}
          label=${self_approval ? "Forbid it" : "Allow it"}
          question=${self_approval
            ? "Requests that wait then need somebody else."
            : "One stolen session is then enough to run a dangerous command. Another administrator has to confirm, if there is one."} />
      `}
    </section>
  `;
}

function Pending({ pending, changed }: {
  readonly pending: PendingSelfApproval;
  readonly changed: () => void;
}) {
  const refusal = useChange(), change = useChange();
  const { id, requested_by, created_at, expires_at } = pending;
  const isOwn = requested_by === me.value!.user.id || requested_by === me.value!.credential.id;
  const decide =
    (operation: "shield.confirm_self_approval" | "shield.refuse_self_approval") => async () => {
      await call(operation, { body: { id } });
      changed();
    };
  return html`
    <p>
      <${Name} id=${requested_by} /> asked to allow it, <${Time} at=${created_at} />. Another
      administrator has <${TimeLeft} until=${expires_at} /> to confirm.
    </p>
    ${may("system:write") && html`
      <div class="actions">
        ${!isOwn && html`
          <${ConfirmButton} label="Confirm that it is allowed" change=${change}
            question="People may then approve their own commands."
            action=${decide("shield.confirm_self_approval")} />
        `}
        <button type="button" disabled=${refusal.isBusy}
          onClick=${() => refusal.run(decide("shield.refuse_self_approval"))}>
          ${isOwn ? "Withdraw the request" : "Refuse it"}
        </button>
      </div>
      <${ChangeError} change=${refusal} />
    `}
  `;
}
