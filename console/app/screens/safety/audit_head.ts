import { useState } from "preact/hooks";
import { call } from "../../api.ts";
import { space } from "../../space.ts";
import { Badge } from "../../components/badge.ts";
import { Checklist, isProven, useProof } from "../../components/checklist.ts";
import { Copy } from "../../components/copy.ts";
import { Failure } from "../../components/states.ts";
import { ExactTime } from "../../components/time.ts";
import { html } from "htm/preact";
import {
  forgetCheckpoint,
  keepCheckpoint,
  originNow,
  sourcesNow,
} from "../../proof/kept_checkpoint.ts";
import { proveHead } from "../../proof/head.ts";
import type { LogHead } from "../../proof/steps.ts";

/** The log's signed checkpoint, verified in the browser at each visit against the one of the last visit. */
export function AuditHead() {
  const [head, setHead] = useState<LogHead | null>(null);
  const [attempt, setAttempt] = useState(0);
  const proving = useProof(async function* (signal) {
    const present = await call("audit.checkpoint", { signal });
    setHead(present);
    const sources = sourcesNow(signal);
    let failed = 0;
    for await (const step of proveHead(present, sources)) {
      if (step.state === "failed") failed++;
      yield step;
    }
    if (failed === 0) keepCheckpoint(sources.origin, present);
  }, [space.value, attempt]);
  const again = () => setAttempt(attempt + 1);
  if (proving.error !== null) return html`<${Failure} error=${proving.error} again=${again} />`;
  const isBad = proving.isDone && !isProven(proving);
  const state = !proving.isDone ? "verifying" : isBad ? "not as it was" : "verified";
  const forget = () => {
    forgetCheckpoint(originNow());
    again();
  };
  return html`
    <details class="card log-head" open=${isBad}>
      <summary>
        <${Badge} state=${state} tone=${!proving.isDone ? "quiet" : isBad ? "bad" : "good"} />${" "}
        <span>${head === null
          ? "Reading the signed checkpoint…"
          : `${head.tree_size.toLocaleString()} rows, signed checkpoint`}</span>
      </summary>
      ${isBad && html`
        <p class="bad" role="alert">
          The log is not the one that this browser saw before. Compare it with a checkpoint that is
          kept elsewhere, such as by an agent or in a webhook's delivery.
        </p>
      `}
      <${Checklist} label="Checks of the log" steps=${proving.steps} />
      ${head !== null && html`
        <dl class="facts">
          <dt>Signed</dt>
          <dd>
            <${ExactTime} at=${head.timestamp} />
          </dd>
          <dt>Root</dt>
          <dd><code>${head.root_hash}</code></dd>
          <dt>Key</dt>
          <dd>
            <${Copy} text=${head.public_key} label="Copy the key" />
          </dd>
        </dl>
      `}
      ${isBad && html`
        <p><button type="button" onClick=${forget}>Forget what this browser saw</button></p>
      `}
    </details>
  `;
}
