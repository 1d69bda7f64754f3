import { useState } from "preact/hooks";
import { call, type ComplianceReport, open, type ReportType } from "../../../api.ts";
import { Badge } from "../../../components/badge.ts";
import { ChangeError, useChange } from "../../../components/form.ts";
import { Name, useNames } from "../../../components/names.ts";
import { Empty } from "../../../components/states.ts";
import { type Column, Table } from "../../../components/table.ts";
import { Time } from "../../../components/time.ts";
import { html } from "htm/preact";
import { offsetPage, usePages } from "../../../pages.ts";
import { addressOf, go, stillHere } from "../../../router.ts";
import { saveAs } from "../../../save.ts";
import { may } from "../../../session.ts";
import { periodsNow } from "./periods.ts";
import { mayReadLog } from "./report_controls.ts";

/** The evidence packs, in words. */
const REPORT_NAMES: Readonly<Record<ReportType, string>> = {
  soc2: "SOC 2",
  iso27001: "ISO/IEC 27001",
  hipaa: "HIPAA",
  pci: "PCI DSS",
  "access-review": "Access review",
  commands: "Commands",
};

const day = (instant: string) => instant.slice(0, 10);
const TONES = { queued: "quiet", running: "busy", completed: "good", failed: "bad" } as const;

const COLUMNS: readonly Column<ComplianceReport>[] = [
  {
    title: "Report",
    width: "minmax(9rem, 2fr)",
    cell: ({ id, type }) =>
      html`<a href=${addressOf(`/compliance/${id}`)}>${REPORT_NAMES[type] ?? type}</a>`,
  },
  {
    title: "Period",
    width: "minmax(12rem, 2fr)",
    cell: ({ period }) => `${day(period.from)} to ${day(period.to)}`,
  },
  {
    title: "State",
    width: "9rem",
    cell: ({ status, progress: { rows_read, rows_total } }) =>
      html`<${Badge} state=${status} tone=${TONES[status]} />${" "}${
        status === "running" && rows_total !== null &&
        html`
          <span class="soft">${Math.floor(100 * rows_read / Math.max(1, rows_total))} %</span>
        `
      }`,
  },
  {
    title: "Requested by",
    width: "minmax(8rem, 1fr)",
    wideOnly: true,
    cell: ({ requested_by }) => html`<${Name} id=${requested_by} />`,
  },
  {
    title: "Created",
    width: "7rem",
    cell: ({ created_at }) => html`<${Time} at=${created_at} />`,
  },
];

/** All compliance reports, and a new one. */
export default function Compliance() {
  useNames();
  const list = usePages(
    async (from, signal) => {
      const { reports, pagination } = await call("compliance.reports", {
        query: { limit: 200, offset: Number(from ?? 0) },
        signal,
      });
      return offsetPage(reports, pagination);
    },
    [],
    { types: ["report"] },
  );
  return html`
    <div class="title">
      <h1>Compliance</h1>
    </div>
    <p>
      A report counts what the audit log shows for a period, and is signed. Anybody can repeat the
      count. It is evidence, not a certificate.
    </p>
    ${(may("system:write") || mayReadLog()) && html`<${OfPeriod} />`}
    <${Table}
      label="Compliance reports" list=${list} columns=${COLUMNS}
      keyOf=${({ id }: ComplianceReport) => id}
      opens=${({ id }: ComplianceReport) => `/compliance/${id}`}
      empty=${html`<${Empty} title="No report yet" />`}
    />
  `;
}

/** Long enough for the largest log over a slow link. */
const EVIDENCE_MS_MAX = 3_600_000;

/** What can be made of a period: a report, and the archive with all evidence. */
function OfPeriod() {
  const change = useChange();
  const periods = periodsNow(new Date());
  const [type, setType] = useState<ReportType>("soc2");
  const [chosen, setChosen] = useState(periods[0]!.period);
  const [own, setOwn] = useState("");
  const period = chosen === "" ? own.trim() : chosen;
  const download = () =>
    change.run(async () => {
      const answer = await open("compliance.evidence", {
        query: { period },
        timeoutMs: EVIDENCE_MS_MAX,
      });
      const name = `evidence-${period.replaceAll(/[^\w.-]+/g, "_")}.tar`;
      saveAs(name, [await answer.blob()], "application/x-tar");
    });
  const submit = (event: Event) => {
    event.preventDefault();
    if (!may("system:write")) return void download();
    change.run(async () => {
      const isStillHere = stillHere();
      const { id } = await call("compliance.generate", { body: { type, period } });
      if (isStillHere()) go(`/compliance/${id}`);
    });
  };
  return html`
    <form class="filters" onSubmit=${submit} aria-label="New report">
      ${may("system:write") && html`
        <label>Report
          <select value=${type} onChange=${(event: Event) =>
            setType((event.target as HTMLSelectElement).value as ReportType)}>
            ${Object.entries(REPORT_NAMES).map(([value, name]) =>
              html`<option value=${value}>${name}</option>`
            )}
          </select>
        </label>
      `}
      <label>Period
        <select value=${chosen}
          onChange=${(event: Event) => setChosen((event.target as HTMLSelectElement).value)}>
          ${periods.map(({ name, period }) => html`<option value=${period}>${name}</option>`)}
          <option value="">another one…</option>
        </select>
      </label>
      ${chosen === "" && html`
        <label>From and to
          <input required value=${own} placeholder="2026-07-01/2026-09-30" autocomplete="off"
            onInput=${(event: Event) => setOwn((event.target as HTMLInputElement).value)} />
        </label>
      `}
      ${may("system:write") &&
        html`<button type="submit" class="primary" disabled=${change.isBusy}>Generate</button>`}
      ${mayReadLog() && html`
        <button type="button" disabled=${change.isBusy || period === ""} onClick=${download}>
          Download the evidence
        </button>
      `}
    </form>
    <${ChangeError} change=${change} />
  `;
}
