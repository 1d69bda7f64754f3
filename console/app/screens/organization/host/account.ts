import { type Account, call } from "../../../api.ts";
import { Badge } from "../../../components/badge.ts";
import { useDraft } from "../../../components/draft.ts";
import { ConfirmButton, useChange } from "../../../components/form.ts";
import { SelectField } from "../../../components/inputs.ts";
import { onOneLine, VisibleText } from "../../../components/visible_text.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";
import { setQuery } from "../../../router.ts";
import { may } from "../../../session.ts";
import { Limits } from "./limits.ts";

/** One organization: its plan, its limits, and whether it may use the installation. */
export function AccountCard({ account, onChanged }: {
  readonly account: Account;
  readonly onChanged: () => void;
}) {
  const { id, name, active, host } = account;
  const change = useChange();
  const toggle = async () => {
    await call("accounts.toggle", { params: { id }, body: { active: !active } });
    onChanged();
  };
  return html`
    <section class="card" aria-label=${onOneLine(name)}>
      <div class="title">
        <h3>
          <${VisibleText} text=${name} />
        </h3>
        <${Badge} state=${active ? "active" : "deactivated"} />
        <button type="button" onClick=${() => setQuery({ account: "" })}>Close</button>
      </div>
      <div class="cards two">
        <div>
          <p class="mono">${id}</p>
          ${may("system:write") && html`<${Plan} account=${account} onChanged=${onChanged} />`}
          ${may("system:write") && !host && html`
            <${ConfirmButton} label=${active
              ? "Deactivate the organization"
              : "Activate the organization"}
              change=${change} action=${toggle} question=${active
                ? "Its sessions, keys, devices and agents are refused at once, and nothing is sent for it, until you activate it again."
                : "Its people, keys and agents may use the installation again, and what is due is sent."} />
          `}
        </div>
        <${Limits} id=${id} />
      </div>
    </section>
  `;
}

function Plan({ account: { id, plan_id }, onChanged }: {
  readonly account: Account;
  readonly onChanged: () => void;
}) {
  const change = useChange();
  const { value: chosen, isChanged, set: setChosen } = useDraft(plan_id);
  const { data } = useData(
    (signal) => call("plans.list", { query: { limit: 200 }, signal }),
    [],
    { types: ["plan"] },
  );
  if (data === null) return null;
  const move = async () => {
    await call("accounts.change_plan", { params: { id }, body: { plan_id: chosen } });
    onChanged();
  };
  const plan = data.plans.find(({ id }) => id === chosen);
  return html`
    <${SelectField} label="Plan" value=${chosen} onChange=${setChosen}
      options=${data.plans.map(({ id, name }) => [id, onOneLine(name)])} />
    ${isChanged && plan !== undefined && html`
      <${ConfirmButton} label=${`Move it to ${
        onOneLine(plan.name)
      }`} change=${change} action=${move}
        question=${`Its subscription ends and another begins, with an order of ${plan.price} ${plan.currency}. Nothing is prorated.`} />
    `}
  `;
}
