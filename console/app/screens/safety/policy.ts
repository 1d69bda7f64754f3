import { useState } from "preact/hooks";
import { call, type GitPolicyDocument, type PolicyVersion, RelayError } from "../../api.ts";
import { Badge } from "../../components/badge.ts";
import { Copy } from "../../components/copy.ts";
import { ChangeError, ConfirmButton, useChange } from "../../components/form.ts";
import { Name, useNames } from "../../components/names.ts";
import { Failure, Loading } from "../../components/states.ts";
import { ExactTime, Time } from "../../components/time.ts";
import { onOneLine } from "../../components/visible_text.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { addressOf } from "../../router.ts";
import { may } from "../../session.ts";
import { PolicyDiff } from "./policy_diff.ts";
import { RollbackPlan } from "./rollback_plan.ts";

/** How many versions are fetched at once. */
const PAGE = 200;

/** One policy: what is in force, its versions, and what differs between them. */
export default function PolicyScreen({ id = "" }: Readonly<Record<string, string>>) {
  useNames();
  const [pages, setPages] = useState(1);
  const { data, error, again } = useData(
    async (signal) => {
      const asked = Array.from({ length: pages }, (_, n) => {
        const query = { policy_id: id, limit: PAGE, offset: n * PAGE };
        return call("gitops.list_versions", { query, signal });
      });
      const [policy, ...answers] = await Promise.all([
        call("gitops.get_policy", { params: { id }, signal }).catch(noneInForce),
        ...asked,
      ]);
      return {
        policy,
        versions: answers.flatMap(({ versions }) => versions),
        hasMore: answers.at(-1)!.pagination.has_more,
      };
    },
    [id, pages],
    { types: ["policy"] },
  );
  const failure = error !== null && html`<${Failure} error=${error} again=${again} />`;
  if (data === null) return failure || html`<${Loading} />`;
  const { policy, versions, hasMore } = data;
  return html`
    ${failure}
    <div class="title">
      <h1>${onOneLine(versions[0]!.name)}</h1>
      ${may("system:read") && html`
        <a class="button" href=${addressOf("/playground", playground(id, policy?.version))}>
          Try a command
        </a>
      `}
      <a class="button" href=${addressOf("/policies")}>All policies</a>
    </div>
    ${policy === null
      ? html`<p>This policy is not in force any more.</p>`
      : html`<${InForce} policy=${policy} changed=${again} />`}
    <section class="card">
      <h2>Versions</h2>
      <ol class="entries">
        ${versions.map((version) =>
          html`
            <${Version} key=${version.version} version=${version} changed=${again}
              canReturn=${policy !== null} />
          `
        )}
      </ol>
      ${hasMore && html`
        <p><button type="button" onClick=${() => setPages(pages + 1)}>Older versions</button></p>
      `}
    </section>
    <${PolicyDiff} id=${id} versions=${versions.map(({ version }) => version)} />
    ${policy !== null && html`
      <section class="card">
        <h2>Document in force</h2>
        <${Copy} text=${JSON.stringify(policy.document, null, 2)} />
      </section>
    `}
  `;
}

/** Versions of a policy that was deleted stay readable. */
function noneInForce(error: unknown): null {
  if (error instanceof RelayError && error.status === 404) return null;
  throw error;
}

const playground = (policy: string, version: string | undefined) => ({
  policy,
  ...version !== undefined && { version },
});

function InForce({ policy, changed }: {
  readonly policy: GitPolicyDocument;
  readonly changed: () => void;
}) {
  const change = useChange();
  const { id, version, latest_version, pinned, path, commit, agent_labels, updated_at } = policy;
  const labels = Object.entries(agent_labels);
  const unpin = () =>
    change.run(async () => {
      await call("gitops.unpin", { params: { id }, body: {} });
      changed();
    });
  return html`
    <section class="card">
      <h2>In force</h2>
      <dl class="facts">
        <dt>Version</dt>
        <dd>${version}${version !== latest_version && ` (the newest is ${latest_version})`}</dd>
        <dt>Agents</dt>
        <dd>${labels.length === 0 ? "all" : labels.map(([name, value]) =>
          html`
            <span class="label">${onOneLine(`${name}=${value}`)}</span>
          `
        )}</dd>
        <dt>File</dt><dd>${onOneLine(path)}</dd>
        <dt>Commit</dt><dd><code>${commit}</code></dd>
        <dt>Since</dt><dd><${ExactTime} at=${updated_at} /></dd>
        ${pinned !== null && html`
          <dt>Pinned</dt>
          <dd>
            by <${Name} id=${pinned.by} />, <${Time} at=${pinned.at} />: syncs leave it as it is
            until its file changes.
          </dd>
        `}
      </dl>
      ${pinned !== null && may("policy:write") && html`
        <p><button type="button" disabled=${change.isBusy} onClick=${unpin}>
          Follow the repository again
        </button></p>
        <${ChangeError} change=${change} />
      `}
    </section>
  `;
}

function Version({ version: of, canReturn, changed }: {
  readonly version: PolicyVersion;
  readonly canReturn: boolean;
  readonly changed: () => void;
}) {
  const change = useChange();
  const [isPlanned, setPlanned] = useState(false);
  const { policy_id, version, in_force, commit, created_by, on_behalf_of, created_at } = of;
  const rollBack = async () => {
    await call("gitops.rollback", { body: { policy_id, version } });
    changed();
  };
  return html`
    <li>
      <p>
        <strong>Version ${version}</strong>${" "}
        ${in_force && html`<${Badge} state="in force" tone="good" />`}${" "}
        <span class="soft">
          <code title=${commit}>${commit.slice(0, 8)}</code> by${" "}
          <${Name} id=${on_behalf_of ?? created_by} />, <${Time} at=${created_at} />
        </span>
      </p>
      ${!in_force && canReturn && html`
        <div class="actions">
          ${may("system:read") && html`
            <button type="button" onClick=${() =>
              setPlanned(!isPlanned)} aria-expanded=${isPlanned}>
              ${isPlanned ? "Hide the changed verdicts" : "Which verdicts would change?"}
            </button>
          `}
          ${may("policy:write") && html`
            <${ConfirmButton} label=${`Roll back to version ${version}`} change=${change}
              question="It comes into force at once and stays, until its file in the repository changes."
              action=${rollBack} />
          `}
        </div>
        ${isPlanned && html`<${RollbackPlan} id=${policy_id} version=${version} />`}
      `}
    </li>
  `;
}
