import { useMemo, useState } from "preact/hooks";
import { call } from "../../../api.ts";
import { Badge } from "../../../components/badge.ts";
import { Checklist, isProven, useProof } from "../../../components/checklist.ts";
import { Copy } from "../../../components/copy.ts";
import { Name, useNames } from "../../../components/names.ts";
import { Failure, Loading } from "../../../components/states.ts";
import { ExactTime } from "../../../components/time.ts";
import { onOneLine } from "../../../components/visible_text.ts";
import { ProseList } from "./prose.ts";
import { Records } from "./records.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";
import { sourcesNow } from "../../../proof/kept_checkpoint.ts";
import { proveReport, type SignedReport } from "../../../proof/report.ts";
import { addressOf } from "../../../router.ts";
import { AccessPart, AgentsPart, ApprovalsPart, PoliciesPart } from "./report_lists.ts";
import { ControlsPart, ExceptionsPart, mayReadLog } from "./report_controls.ts";
import { namesIn, type Pack, type ReadReport } from "./report_types.ts";

/** One compliance report, to read, print and verify. */
export default function Report({ id = "" }: Readonly<Record<string, string>>) {
  const { data, error, again } = useData(
    async (signal) => await call("compliance.report", { query: { id }, signal }) as ReadReport,
    [id],
    { types: ["report"], id },
  );
  const pack = data?.report ?? null;
  useNames(useMemo(() => pack === null ? undefined : namesIn(pack), [pack]));
  const failure = error !== null && html`<${Failure} error=${error} again=${again} />`;
  if (data === null) return failure || html`<${Loading} />`;
  return html`
    ${failure}
    <div class="title">
      <h1>${pack?.title ?? "Report"}</h1>
      <div class="actions unprinted">
        ${pack !== null && html`
          <button type="button" class="primary" onClick=${() => print()}>Print</button>
        `}
        <a class="button" href=${addressOf("/compliance")}>All reports</a>
      </div>
    </div>
    ${data.report === null ? html`<${Unfinished} of=${data} again=${again} />` : html`
      <${Content} pack=${data.report} />
      <${Signature} signed=${data} />
    `}
  `;
}

function Unfinished({ of: { status, progress }, again }: {
  readonly of: ReadReport;
  readonly again: () => void;
}) {
  const { rows_read, rows_total } = progress;
  return html`
    <p role="status">
      <${Badge} state=${status} /> ${rows_read.toLocaleString()} of
      ${" "}${rows_total === null
        ? "an unknown number of"
        : rows_total.toLocaleString()} rows are read.
    </p>
    <p><button type="button" onClick=${again}>Look again</button></p>
  `;
}

function Content({ pack }: { readonly pack: Pack }) {
  const { organization, space, period, log, limitations, method, event_types } = pack;
  return html`
    <dl class="facts">
      <dt>Organization</dt>
      <dd><span title=${organization.id}>${onOneLine(organization.name)}</span>, ${space} space</dd>
      <dt>Period</dt>
      <dd>
        <${ExactTime} at=${period.from} /> to <${ExactTime} at=${period.to} />${!period.ended &&
          ", not ended yet"}
      </dd>
      <dt>Generated</dt>
      <dd>
        <${ExactTime} at=${pack.generated_at} />
      </dd>
      <dt>Requested by</dt>
      <dd>
        <${Name} id=${pack.requested_by} />
      </dd>
      <dt>Rows of the log</dt>
      <dd>${log.rows.toLocaleString()} in the period, ${log.size.toLocaleString()} in all</dd>
    </dl>
    <p class=${pack.no_data ? "warn" : ""}>${pack.statement}</p>
    <section class="part">
      <h2>What this report cannot tell</h2>
      <${ProseList} texts=${limitations} />
    </section>
    <${ControlsPart} pack=${pack} />
    <${ExceptionsPart} exceptions=${pack.exceptions} />
    ${pack.policies && html`<${PoliciesPart} policies=${pack.policies} />`}
    ${pack.approvals && html`<${ApprovalsPart} resolved=${pack.approvals.resolved} />`}
    ${pack.access && html`<${AccessPart} access=${pack.access} />`}
    ${pack.commands && html`<${AgentsPart} agents=${pack.commands.by_agent} />`}
    <section class="part">
      <h2>All rows of the period by type</h2>
      <${Records} label="Rows by type" heads=${["Event type", "Rows"]}
        rows=${event_types.map(({ event_type, rows }) => [
          html`<code>${onOneLine(event_type)}</code>`,
          rows.toLocaleString(),
        ])} />
    </section>
    <section class="part">
      <h2>How it was counted</h2>
      <${ProseList} texts=${method} />
    </section>
  `;
}

function Signature({ signed }: { readonly signed: SignedReport }) {
  const [attempt, setAttempt] = useState(0);
  const proving = useProof(async function* (signal) {
    if (attempt === 0) return;
    const head = await call("audit.checkpoint", { signal });
    yield* proveReport(signed, head, sourcesNow(signal));
  }, [attempt]);
  const isDone = proving.isDone && proving.error === null && proving.steps.length > 0;
  return html`
    <section class="part">
      <h2>Signature</h2>
      <p>The log's key signed the digest of this report's text.</p>
      ${mayReadLog() && html`
        <p class="actions unprinted">
          <button type="button" onClick=${() => setAttempt(attempt + 1)}>
            Verify in this browser
          </button>
          ${isDone && html`
            <${Badge} state=${isProven(proving) ? "verified" : "not verified"}
              tone=${isProven(proving) ? "good" : "bad"} />
          `}
        </p>
      `}
      <${Checklist} label="Steps of the verification" steps=${proving.steps} />
      ${proving.error !== null && html`<${Failure} error=${proving.error} />`}
      <${Copy} text=${signed.note} label="Copy the note" />
      <p class="soft">Key: <code>${signed.public_key}</code></p>
    </section>
  `;
}
