import { useState } from "preact/hooks";
import { call, type PlanAction, type PolicyApply, type Repository } from "../../api.ts";
import { Badge } from "../../components/badge.ts";
import { ChangeError, useChange } from "../../components/form.ts";
import { onOneLine } from "../../components/visible_text.ts";
import { html } from "htm/preact";
import { ReplayView } from "./replay_view.ts";

/** The commands that a plan is tried on. */
const REPLAYED = 1_000;
const TIMEOUT_MS = 120_000;
const TONES: Partial<Readonly<Record<PlanAction, string>>> = {
  create: "good",
  update: "busy",
  delete: "bad",
  pinned: "warn",
};

/** Shows what the branch's head would bring into force and which verdicts would change, and applies it. */
export function ApplyPlan({ repository, applied }: {
  readonly repository: Repository;
  readonly applied: () => void;
}) {
  const change = useChange();
  const [plan, setPlan] = useState<PolicyApply | null>(null);
  const ask = (how: { dry_run: true; replay: number } | { commit: string }) =>
    call("gitops.apply", {
      body: {
        repo_url: repository.url,
        branch: repository.branch,
        policy_path: repository.policy_path,
        ...how,
      },
      timeoutMs: TIMEOUT_MS,
    });
  const show = () =>
    change.run(async () => setPlan(await ask({ dry_run: true, replay: REPLAYED })));
  // The branch may have moved since the plan was shown.
  const apply = (commit: string) =>
    change.run(async () => {
      setPlan(await ask({ commit }));
      applied();
    });
  return html`
    <div class="actions">
      <button type="button" disabled=${change.isBusy} onClick=${show}>
        ${change.isBusy ? "Fetching…" : "Show the plan"}
      </button>
    </div>
    <${ChangeError} change=${change} />
    ${plan !== null && html`
      <div class="plan" aria-live="polite">
        <h3>${plan.dry_run ? "Plan" : "Applied"}: commit <code>${plan.commit.slice(
          0,
          12,
        )}</code></h3>
        <ul>
          ${plan.plan.map(({ action, name, path, version, previous_version }) =>
            html`
              <li>
                <${Badge} state=${action} tone=${TONES[action] ?? "quiet"} />${" "}
                <strong>${onOneLine(name)}</strong>${" "}
                <span class="soft">${onOneLine(
                  path,
                )}${version !== null && previous_version !== null && version !== previous_version
                  ? `, version ${previous_version} to ${version}`
                  : ""}</span>
              </li>
            `
          )}
        </ul>
        ${plan.replay !== null && html`<${ReplayView} replay=${plan.replay} />`}
        ${plan.dry_run && (plan.changed
          ? html`
            <p><button type="button" class="primary" disabled=${change.isBusy}
              onClick=${() => apply(plan.commit)}>
              Apply this plan
            </button></p>
          `
          : html`<p class="soft">Nothing would change.</p>`)}
      </div>
    `}
  `;
}
