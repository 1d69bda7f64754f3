import { open } from "../../api.ts";
import { ChangeError, useChange } from "../../components/form.ts";
import { html } from "htm/preact";
import { saveAs } from "../../save.ts";
import { filtersNow } from "./audit_filters.ts";

const FORMATS = {
  JSON: { accept: "application/json", ending: "json" },
  NDJSON: { accept: "application/x-ndjson", ending: "ndjson" },
  CSV: { accept: "text/csv", ending: "csv" },
} as const;
/** Long enough for the largest log over a slow link. */
const TIMEOUT_MS = 3_600_000;

/** Downloads the rows that the filters choose. JSON and NDJSON hold a proof of their own. */
export function AuditExport() {
  const change = useChange();
  const download = ({ accept, ending }: typeof FORMATS[keyof typeof FORMATS]) =>
    change.run(async () => {
      const answer = await open("audit.export", {
        query: filtersNow(),
        accept,
        timeoutMs: TIMEOUT_MS,
      });
      const name = `audit-${new Date().toISOString().slice(0, 10)}.${ending}`;
      saveAs(name, [await answer.blob()], accept);
    });
  return html`
    <div class="actions" role="group" aria-label="Export these rows">
      ${Object.entries(FORMATS).map(([name, format]) =>
        html`
          <button type="button" disabled=${change.isBusy} onClick=${() => download(format)}>
            Export ${name}
          </button>
        `
      )}
      <${ChangeError} change=${change} />
    </div>
  `;
}
