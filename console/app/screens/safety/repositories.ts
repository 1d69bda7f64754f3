import { useState } from "preact/hooks";
import { call, type Repository } from "../../api.ts";
import { Badge } from "../../components/badge.ts";
import { ChangeError, ConfirmButton, useChange } from "../../components/form.ts";
import { Name, useNames } from "../../components/names.ts";
import { Empty, Failure, Loading } from "../../components/states.ts";
import { Time } from "../../components/time.ts";
import { onOneLine, VisibleText } from "../../components/visible_text.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { may } from "../../session.ts";
import { ApplyPlan } from "./apply_plan.ts";
import { PolicyTabs } from "./policy_tabs.ts";
import { RepositoryForm } from "./repository_form.ts";

/** The repositories that policies come from. */
export default function Repositories() {
  useNames();
  const [isAdding, setAdding] = useState(false);
  const { data, error, again } = useData(
    async (signal) =>
      (await call("gitops.list_repositories", { query: { limit: 200 }, signal })).repositories,
    [],
    { types: ["repository", "policy"] },
  );
  const added = () => {
    setAdding(false);
    again();
  };
  return html`
    <div class="title">
      <h1>Policy repositories</h1>
      ${may("policy:write") && !isAdding && html`
        <button type="button" class="primary" onClick=${() => setAdding(true)}>
          Add a repository
        </button>
      `}
    </div>
    <${PolicyTabs} />
    ${isAdding && html`<${RepositoryForm} onDone=${added} onCancel=${() => setAdding(false)} />`}
    ${error !== null && html`<${Failure} error=${error} again=${again} />`}
    ${data === null && error === null && html`<${Loading} />`}
    ${data?.length === 0 && !isAdding && html`
      <${Empty} title="No repository yet">
        <p>
          Relay reads policy files from a branch of a Git repository, checks them and their tests,
          and brings all of them into force at once.
        </p>
        <//>
    `}
    ${data?.map((repository) =>
      html`<${RepositoryCard} key=${repository.id} repository=${repository} changed=${again} />`
    )}
  `;
}

const stateOf = ({ suspended, last_sync, pending, applied_commit }: Repository) =>
  suspended !== null
    ? "suspended"
    : (last_sync?.error ?? null) !== null
    ? "failed"
    : pending !== null
    ? "waiting"
    : applied_commit === null
    ? "not applied"
    : "synced";

function RepositoryCard({ repository, changed }: {
  readonly repository: Repository;
  readonly changed: () => void;
}) {
  const { id, name, provider, url, branch, policy_path, last_sync, pending, suspended } =
    repository;
  const { applied_commit, sync_seconds, has_webhook_secret, acts_for } = repository;
  return html`
    <section class="card">
      <div class="title">
        <h2>${onOneLine(name)}</h2>
        <${Badge} state=${stateOf(repository)} tone=${suspended !== null ? "bad" : undefined} />
      </div>
      <dl class="facts">
        <dt>Address</dt><dd><${VisibleText} text=${url} /> <span class="soft">${provider}</span></dd>
        <dt>Branch and path</dt>
        <dd>${onOneLine(branch)}, ${policy_path === ""
          ? "the whole repository"
          : onOneLine(policy_path)}</dd>
        <dt>In force</dt>
        <dd>${applied_commit === null
          ? "nothing"
          : html`<code title=${applied_commit}>${applied_commit.slice(0, 12)}</code>`}</dd>
        <dt>Last sync</dt>
        <dd>
          <${Time} at=${last_sync?.at ?? null} />
          ${(last_sync?.error ?? null) !== null && html`
            <p class="bad kept-lines">
              <${VisibleText} text=${last_sync!.error} />
            </p>
          `}
        </dd>
        <dt>Follows</dt>
        <dd>${followsOf(sync_seconds, has_webhook_secret)}</dd>
        <dt>Acts for</dt><dd><${Name} id=${acts_for} /></dd>
        ${suspended !== null && html`
          <dt>Suspended</dt>
          <dd class="bad">${{
            removed: "That person is gone.",
            inactive: "That person is deactivated.",
            rights: `That person lacks ${suspended.missing.join(", ")}.`,
          }[suspended.reason]}</dd>
        `}
        ${pending !== null && html`
          <dt>Waiting</dt>
          <dd>
            <code title=${pending.commit}>${pending.commit.slice(0, 12)}</code>, seen${" "}
            <${Time} at=${pending.seen_at} />: ${pending.changes_total} changes
          </dd>
        `}
      </dl>
      ${may("policy:write") && html`
        <${ApplyPlan} repository=${repository} applied=${changed} />
        <${Actions} id=${id} isSuspended=${suspended !== null} changed=${changed} />
      `}
    </section>
  `;
}

const followsOf = (seconds: number | null, hasSecret: boolean): string =>
  [
    hasSecret ? "each signed push" : null,
    seconds === null ? null : `a look every ${Math.round(seconds / 60)} min`,
  ].filter((part) => part !== null).join(", and ") || "nothing: apply it by hand";

function Actions({ id, isSuspended, changed }: {
  readonly id: string;
  readonly isSuspended: boolean;
  readonly changed: () => void;
}) {
  const adoption = useChange(), change = useChange();
  const [ends, setEnds] = useState(false);
  const remove = async () => {
    const query = ends ? { policies: "delete" } as const : {};
    await call("gitops.delete_repository", { params: { id }, query });
    changed();
  };
  const adopt = () =>
    adoption.run(async () => {
      await call("gitops.adopt_repository", { params: { id } });
      changed();
    });
  return html`
    <div class="actions">
      ${isSuspended && html`
        <button type="button" disabled=${adoption.isBusy} onClick=${adopt}>Adopt it</button>
        <${ChangeError} change=${adoption} />
      `}
      <${ConfirmButton} label="Remove the repository" change=${change} action=${remove}
        question="Relay forgets it and its credentials. Policies in force have to end first, or with it.">
        <label>
          <input type="checkbox" checked=${ends}
            onChange=${(event: Event) => setEnds((event.target as HTMLInputElement).checked)} />
          ${" "}End its policies too
        </label>
      <//>
    </div>
  `;
}
