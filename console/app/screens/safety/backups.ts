import { useState } from "preact/hooks";
import { type Backup, call, type Restore } from "../../api.ts";
import { Badge } from "../../components/badge.ts";
import { ChangeError, ConfirmButton, useChange } from "../../components/form.ts";
import { Name } from "../../components/names.ts";
import { Failure, Loading } from "../../components/states.ts";
import { Time } from "../../components/time.ts";
import { onOneLine, VisibleText } from "../../components/visible_text.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { may } from "../../session.ts";

const LIMIT = 20;
/** Paths of a plan that are listed. */
const PATHS_SHOWN = 100;

/** An agent's backups, and what was restored. */
export function Backups({ agentId, isConnected }: {
  readonly agentId: string;
  readonly isConnected: boolean;
}) {
  const change = useChange();
  const { data, error, again } = useData(
    async (signal) => {
      const input = { params: { agent_id: agentId }, query: { limit: LIMIT }, signal };
      const [{ backups }, { restores }] = await Promise.all([
        call("gitops.list_backups", input),
        call("gitops.list_restores", input),
      ]);
      return { backups, restores };
    },
    [agentId],
    { types: ["backup", "restore"] },
  );
  const backUp = () =>
    change.run(async () => {
      await call("gitops.backup", { params: { agent_id: agentId }, body: {} });
      again();
    });
  return html`
    <section class="card">
      <h2>Backups of its configuration</h2>
      ${may("policy:write") && html`
        <p><button type="button" disabled=${change.isBusy || !isConnected} onClick=${backUp}>
          Back it up now
        </button>${!isConnected && html`
          <span class="soft">The agent is not connected.</span>
        `}</p>
        <${ChangeError} change=${change} />
      `}
      ${error !== null && html`<${Failure} error=${error} again=${again} />`}
      ${data === null && error === null && html`<${Loading} />`}
      ${data?.backups.length === 0 && html`<p class="soft">There is none yet.</p>`}
      <ul class="entries">
        ${data?.backups.map((backup) =>
          html`
            <${BackupItem} key=${backup
              .id} backup=${backup} isConnected=${isConnected} changed=${again} />
          `
        )}
      </ul>
      ${data !== null && data.restores.length > 0 && html`
        <h3>Restores</h3>
        <ul class="entries">
          ${data.restores.map((restore) =>
            html`<${RestoreItem} key=${restore.id} restore=${restore} />`
          )}
        </ul>
      `}
    </section>
  `;
}

function BackupItem({ backup, isConnected, changed }: {
  readonly backup: Backup;
  readonly isConnected: boolean;
  readonly changed: () => void;
}) {
  const rehearsal = useChange(), change = useChange();
  const { id, agent_id, status, reason, files, bytes, created_at, created_by, error, roots } =
    backup;
  const restore = (dry: boolean) => async () => {
    await call("gitops.restore", {
      params: { agent_id },
      body: { backup_id: id, ...dry && { dry_run: true } },
    });
    changed();
  };
  const canRestore = status === "complete" && isConnected && may("policy:write");
  return html`
    <li>
      <p>
        <${Badge} state=${status} />${" "}
        <strong><${Time} at=${created_at} /></strong>${" "}
        <span class="soft">
          ${reason === "requested"
            ? "by"
            : "before a restore by"} <${Name} id=${created_by} />:${" "}
          ${files} files, ${bytes.toLocaleString()} bytes${roots.length > 0 &&
            `, ${onOneLine(roots.join(", "))}`}
        </span>
      </p>
      ${error !== null && html`
        <p class="bad">
          <${VisibleText} text=${error} />
        </p>
      `}
      ${canRestore && html`
        <div class="actions">
          <button type="button" disabled=${rehearsal.isBusy}
            onClick=${() => rehearsal.run(restore(true))}>What would a restore change?</button>
          <${ConfirmButton} label="Restore it" change=${change} action=${restore(false)}
            question="The agent replaces its files by these, and removes others under the listed paths. Its present state becomes a backup first." />
        </div>
        <${ChangeError} change=${rehearsal} />
      `}
    </li>
  `;
}

function RestoreItem({ restore }: { readonly restore: Restore }) {
  const [isOpen, setOpen] = useState(false);
  const { status, dry_run, created_at, created_by, error, plan } = restore;
  return html`
    <li>
      <p>
        <${Badge} state=${status} />${" "}
        <strong>${dry_run ? "Only asked" : "Restored"} <${Time} at=${created_at} /></strong>${" "}
        <span class="soft">by <${Name} id=${created_by} /></span>
      </p>
      ${error !== null && html`
        <p class="bad">
          <${VisibleText} text=${error} />
        </p>
      `}
      ${plan !== null && html`
        <p>
          ${plan.create} to create, ${plan.replace} to replace, ${plan.remove} to remove,${" "}
          ${plan.unchanged} unchanged.${" "}
          ${plan.changes.length > 0 && html`
            <button type="button" class="plain" aria-expanded=${isOpen}
              onClick=${() => setOpen(!isOpen)}>${isOpen
                ? "Hide the paths"
                : "Show the paths"}</button>
          `}
        </p>
        ${isOpen && html`
          <ul>
            ${plan.changes.slice(0, PATHS_SHOWN).map(({ action, path }) =>
              html`<li>${action} <code>${onOneLine(path)}</code></li>`
            )}
            ${plan.changes.length > PATHS_SHOWN && html`
              <li class="soft">and ${(plan.changes.length - PATHS_SHOWN).toLocaleString()} more</li>
            `}
          </ul>
        `}
      `}
    </li>
  `;
}
