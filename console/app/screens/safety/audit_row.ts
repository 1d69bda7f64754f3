import { useState } from "preact/hooks";
import { type AuditEvent, call } from "../../api.ts";
import { Badge } from "../../components/badge.ts";
import { Checklist, isProven, useProof } from "../../components/checklist.ts";
import { Copy } from "../../components/copy.ts";
import { Name, useNames } from "../../components/names.ts";
import { Failure, Loading } from "../../components/states.ts";
import { ExactTime } from "../../components/time.ts";
import { onOneLine } from "../../components/visible_text.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { keepCheckpoint, sourcesNow } from "../../proof/kept_checkpoint.ts";
import { proveRow, type RowProof } from "../../proof/row.ts";
import type { LogHead } from "../../proof/steps.ts";
import { addressOf } from "../../router.ts";

/** One row of the audit log: its facts, its exact text, and its proof. */
export default function AuditRow({ id = "" }: Readonly<Record<string, string>>) {
  useNames();
  const { data: proof, error, again } = useData(
    (signal) => call("audit.proof", { params: { event_id: id }, signal }),
    [id],
  );
  if (error !== null) return html`<${Failure} error=${error} again=${again} />`;
  if (proof === null) return html`<${Loading} />`;
  const event = proof.row === null ? null : JSON.parse(proof.row) as Omit<AuditEvent, "seq">;
  return html`
    <div class="title">
      <h1>${event === null ? `Row ${proof.seq}` : onOneLine(event.event_type)}</h1>
      <a class="button" href=${addressOf("/audit")}>All rows</a>
    </div>
    ${event === null
      ? html`<p>The row is no longer kept. Its hash is, so the rows around it can still be proven.</p>`
      : html`<${RowFacts} event=${event} seq=${proof.seq} />`}
    <${RowProven} key=${id} id=${id} proof=${proof} />
    ${proof.row !== null && html`
      <section class="card">
        <h2>Exact text</h2>
        <${Copy} text=${proof.row} />
      </section>
    `}
  `;
}

function RowFacts({ event, seq }: {
  readonly event: Omit<AuditEvent, "seq">;
  readonly seq: number;
}) {
  const { details, timestamp, actor, agent_id, resource_type, resource_id, request_id, thread } =
    event;
  return html`
    <section class="card">
      <h2>Facts</h2>
      <dl class="facts">
        <dt>Time</dt><dd><${ExactTime} at=${timestamp} /></dd>
        <dt>Row</dt><dd>${seq}</dd>
        <dt>Actor</dt><dd><${Name} id=${actor} linked /></dd>
        ${agent_id !== undefined && html`
          <dt>Agent</dt>
          <dd>
            <${Name} id=${agent_id} linked />
          </dd>
        `}
        <dt>Resource</dt>
        <dd>${resource_type.replaceAll("_", " ")} <${Name} id=${resource_id} linked /></dd>
        ${thread !== undefined && html`
          <dt>Story</dt>
          <dd><a href=${addressOf(`/alerts/${thread}`)}>${thread}</a></dd>
        `}
        ${request_id !== undefined && html`
          <dt>Request</dt>
          <dd><code>${request_id}</code></dd>
        `}
        ${Object.entries(details).map(([name, value]) =>
          html`
            <dt>${onOneLine(name)}</dt>
            <dd>${onOneLine(typeof value === "string" ? value : JSON.stringify(value))}</dd>
          `
        )}
      </dl>
    </section>
  `;
}

/** The proof of a row, made when somebody asks for it. */
function RowProven({ id, proof }: { readonly id: string; readonly proof: RowProof }) {
  const [head, setHead] = useState<LogHead | null>(null);
  const [attempt, setAttempt] = useState(0);
  const proving = useProof(async function* (signal) {
    if (attempt === 0) return;
    const present = await call("audit.checkpoint", { signal });
    setHead(present);
    const sources = sourcesNow(signal);
    let failed = 0;
    for await (const step of proveRow(id, proof, present, sources)) {
      if (step.state === "failed") failed++;
      yield step;
    }
    if (failed === 0 && sources.kept === null) {
      keepCheckpoint(sources.origin, { ...present, note: proof.checkpoint.note });
    }
  }, [attempt]);
  const isDone = proving.isDone && proving.error === null && proving.steps.length > 0;
  return html`
    <section class="card">
      <h2>Proof</h2>
      <p>
        This browser checks the row's hash, its path to the root of the log's tree, and the signature
        of that root. It does not trust the relay's answer.
      </p>
      <p class="actions">
        <button type="button" class="primary" onClick=${() => setAttempt(attempt + 1)}>
          Prove this row
        </button>
        ${isDone && html`
          <${Badge} state=${isProven(proving) ? "proven" : "not proven"}
            tone=${isProven(proving) ? "good" : "bad"} />
        `}
      </p>
      <${Checklist} label="Steps of the proof" steps=${proving.steps} />
      ${proving.error !== null && html`<${Failure} error=${proving.error} />`}
      ${isDone && head !== null && html`
        <dl class="facts">
          <dt>Rows of the tree</dt>
          <dd>${proof.checkpoint.tree_size.toLocaleString()}</dd>
          <dt>Root</dt>
          <dd><code>${proof.checkpoint.root_hash}</code></dd>
          <dt>Key</dt>
          <dd>
            <${Copy} text=${head.public_key} label="Copy the key" />
          </dd>
        </dl>
      `}
    </section>
  `;
}
