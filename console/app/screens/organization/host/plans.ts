import { call, type Plan } from "../../../api.ts";
import { Overtaken, useDraft } from "../../../components/draft.ts";
import {
  ChangeError,
  ConfirmButton,
  type Control,
  Field,
  useChange,
} from "../../../components/form.ts";
import { TextField } from "../../../components/inputs.ts";
import { Failure, Loading } from "../../../components/states.ts";
import { onOneLine, VisibleText } from "../../../components/visible_text.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";
import { query, setQuery } from "../../../router.ts";
import { may } from "../../../session.ts";
import { limitWords, UNLIMITED } from "../../../components/limit_words.ts";

/** In the address, for a plan that is not made yet. */
const NEW = "+";

/** The plans that an organization can have. */
export function Plans() {
  const { data, error, again } = useData(
    (signal) => call("plans.list", { query: { limit: 200 }, signal }),
    [],
    { types: ["plan", "account", "configuration"] },
  );
  const edited = query.value.plan;
  const plan = data?.plans.find(({ id }) => id === edited);
  const isOpen = may("system:write") && (edited === NEW || plan !== undefined);
  return html`
    <div class="title">
      <h2>Plans</h2>
      ${may("system:write") && !isOpen && html`
        <button type="button" onClick=${() => setQuery({ plan: NEW })}>Create a plan</button>
      `}
    </div>
    ${error !== null && html`<${Failure} error=${error} again=${again} />`}
    ${data === null && error === null && html`<${Loading} />`}
    ${isOpen &&
      html`<${PlanForm} key=${edited} plan=${plan ?? null} onChanged=${again} />`}
    <ul class="rows">
      ${data?.plans.map((one) => html`<${Row} key=${one.id} plan=${one} onChanged=${again} />`)}
    </ul>
  `;
}

function Row({ plan, onChanged }: { readonly plan: Plan; readonly onChanged: () => void }) {
  const { id, name, price, currency, features, accounts, requests_per_minute, limit_source } = plan;
  const change = useChange();
  const remove = async () => {
    await call("plans.delete", { params: { id } });
    onChanged();
  };
  return html`
    <li>
      <p>
        <strong><${VisibleText} text=${name} /></strong>${" "}
        <span class="soft">${price} ${currency} a month, ${accounts} organizations</span><br />
        ${limitWords(requests_per_minute)} requests a minute, by the ${limit_source}
        ${features.map((feature) => html`; <${VisibleText} text=${feature} />`)}
      </p>
      ${may("system:write") && html`
        <button type="button" aria-label=${`Change the plan ${onOneLine(name)}`}
          onClick=${() => setQuery({ plan: id })}>Change</button>
        ${accounts === 0 && html`
          <${ConfirmButton} label=${`Delete ${onOneLine(name)}`} change=${change} action=${remove}
            question="No organization has it. A plan that new ones get cannot be deleted." />
        `}
      `}
    </li>
  `;
}

function PlanForm({ plan, onChanged }: {
  readonly plan: Plan | null;
  readonly onChanged: () => void;
}) {
  const change = useChange();
  const limit = plan?.requests_per_minute ?? UNLIMITED;
  const name = useDraft(plan?.name ?? "");
  const price = useDraft(`${plan?.price ?? 0}`);
  const currency = useDraft(plan?.currency ?? "USD");
  const requests = useDraft(limit >= UNLIMITED ? "" : `${limit}`);
  const features = useDraft(plan?.features.join("\n") ?? "");
  const drafts = { name, price, currency, features, requests_per_minute: requests };
  const changed = Object.entries(drafts).filter(([, { isChanged }]) => isChanged);
  const close = () => setQuery({ plan: "" });
  const submit = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      const lines = features.value.split("\n").map((line) => line.trim());
      const body = {
        name: name.value,
        price: Number(price.value),
        currency: currency.value,
        features: lines.filter((line) => line !== ""),
        requests_per_minute: requests.value === "" ? null : Number(requests.value),
      };
      if (plan === null) await call("plans.create", { body });
      else {
        // A field that was not changed is not sent, so that another person's change of it stays.
        const fields = changed.map(([field]) => [field, body[field as keyof typeof body]]);
        await call("plans.update", { params: { id: plan.id }, body: Object.fromEntries(fields) });
      }
      close();
      onChanged();
    });
  };
  return html`
    <form class="card" onSubmit=${submit} aria-label=${plan === null
      ? "New plan"
      : `Plan ${onOneLine(plan.name)}`}>
      <h3>${plan === null ? "New plan" : `Change the plan ${onOneLine(plan.name)}`}</h3>
      <div class="pair">
        <${TextField} label="Name" value=${name.value} onInput=${name.set} required
          maxlength=${100} />
        <${TextField} label="Price of a month" type="number" min=${0} step=${.01}
          value=${price.value}
          onInput=${price.set} required />
        <${TextField} label="Currency" value=${currency.value} onInput=${currency.set} required
          maxlength=${3} />
        <${TextField} label="Requests a minute" type="number" min=${1} value=${requests.value}
          onInput=${requests.set} hint="Empty means no limit." />
      </div>
      <${Field} label="Features" hint="One a line.">${(control: Control) =>
        html`
          <textarea ...${control} rows="3" value=${features.value} onInput=${(event: Event) =>
            features.set((event.target as HTMLTextAreaElement).value)}></textarea>
        `}<//>
      ${plan !== null &&
        html`<p class="soft">A changed limit applies to the next request of every organization on the plan.</p>`}
      <${Overtaken} drafts=${Object.values(drafts)} />
      <${ChangeError} change=${change} />
      <div class="actions">
        <button type="submit" class="primary"
          disabled=${change.isBusy || changed.length === 0}>
          ${plan === null ? "Create the plan" : "Save the plan"}
        </button>
        <button type="button" onClick=${close}>Cancel</button>
      </div>
    </form>
  `;
}
