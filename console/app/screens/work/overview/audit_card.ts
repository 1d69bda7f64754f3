import { call } from "../../../api.ts";
import { ExactTime } from "../../../components/time.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";
import { Card } from "./card.ts";

interface Head {
  readonly tree_size: number;
  readonly timestamp: string;
}

/** The end of the audit log. Each reading of it is a row of the log itself, so it is read once. */
export function AuditCard() {
  const head = useData((signal) => call("audit.checkpoint", { signal }), []);
  return html`
    <${Card} title="Audit log" to="/audit" data=${head}>${({ tree_size, timestamp }: Head) =>
      html`
        <dl class="facts">
          <dt>Rows</dt>
          <dd>${tree_size.toLocaleString()}</dd>
          <dt>Signed checkpoint</dt>
          <dd>
            <${ExactTime} at=${timestamp} />
          </dd>
        </dl>
      `}<//>
  `;
}
