import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { type AuditEvent, call, type Command } from "../../../api.ts";
import { ChangeError, useChange } from "../../../components/form.ts";
import { Time } from "../../../components/time.ts";
import { digestOf } from "../../../proof/hashes.ts";
import { addressOf } from "../../../router.ts";
import { may } from "../../../session.ts";

/** What the agent signed about the end of a command. */
interface Signed {
  readonly signature: string;
  readonly verdict: string;
  readonly stdout_sha256?: string;
  readonly stderr_sha256?: string;
}

const SHOWN = 50;

/** The rows of the audit log about a command, with the agent's receipt. Read on request, because reads are logged. */
export function Receipt({ command }: { readonly command: Command }) {
  const change = useChange();
  const [events, setEvents] = useState<readonly AuditEvent[] | null>(null);
  if (!may("audit:read") && !may("system:read")) return null;
  const load = () =>
    change.run(async () => {
      const { events } = await call("audit.query", {
        query: { resource_type: "command", resource_id: command.command_id, limit: SHOWN },
      });
      setEvents(events.toReversed());
    });
  return html`
    <section class="card">
      <h2>Receipt and audit log</h2>
      <p class="soft">
        The agent signs what it ran and what came out. The receipt is in the audit log, whose rows
        your browser can prove.
      </p>
      <${ChangeError} change=${change} />
      <p>
        <button type="button" disabled=${change.isBusy} onClick=${load}>
          ${events === null ? "Read the log" : "Read it again"}
        </button>
      </p>
      ${events?.length === 0 && html`<p class="soft">No row about it is kept.</p>`}
      ${events?.map((event) =>
        html`<${Row} key=${event.event_id} event=${event} command=${command} />`
      )}
    </section>
  `;
}

function Row({ event, command }: { readonly event: AuditEvent; readonly command: Command }) {
  const { details, event_id, event_type, timestamp } = event;
  const receipt = details["receipt"] as Signed | null | undefined;
  return html`
    <h3>
      ${event_type.replaceAll("_", " ")} <span class="soft"><${Time} at=${timestamp} /></span>
    </h3>
    ${receipt && html`
      <dl class="facts">
        <dt>Agent's signature</dt>
        <dd><code>${receipt.signature}</code></dd>
        <dt>For the verdict</dt>
        <dd><code>${receipt.verdict}</code></dd>
        <${Digest} name="stdout" signed=${receipt.stdout_sha256} text=${command.stdout} />
        <${Digest} name="stderr" signed=${receipt.stderr_sha256} text=${command.stderr} />
      </dl>
    `}
    <p><a class="button" href=${addressOf(`/audit/${event_id}`)}>Prove this row</a></p>
  `;
}

/** The signed digest of a stream, compared with the output that the relay shows. */
function Digest({ name, signed, text }: {
  readonly name: string;
  readonly signed: string | undefined;
  readonly text: string;
}) {
  const [found, setFound] = useState<string | null>(null);
  useEffect(() => {
    let isLeft = false;
    setFound(null);
    digestOf(text).then((digest) => isLeft || setFound(digest));
    return () => isLeft = true;
  }, [text]);
  if (signed === undefined) return null;
  const words = found === null
    ? ""
    : found === signed
    ? html`<span class="good">It is the digest of the output above.</span>`
    : html`
      <span
        class="warn">The output above has another digest: only a part was kept, or it is no text.</span>
    `;
  return html`
    <dt>SHA-256 of ${name}</dt>
    <dd><code>${signed}</code><br />${words}</dd>
  `;
}
