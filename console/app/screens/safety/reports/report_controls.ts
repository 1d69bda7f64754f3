import { Name } from "../../../components/names.ts";
import { Prose } from "./prose.ts";
import { Records } from "./records.ts";
import { ExactTime } from "../../../components/time.ts";
import { onOneLine } from "../../../components/visible_text.ts";
import { html } from "htm/preact";
import { addressOf } from "../../../router.ts";
import { may } from "../../../session.ts";
import type { Pack, Pointer } from "./report_types.ts";

/** What each control asks, and what the log answers. */
export function ControlsPart({ pack: { controls, queries, period } }: { readonly pack: Pack }) {
  return html`
    <section class="part">
      <h2>Controls</h2>
      ${controls.map((control) => {
        const asked = queries.filter(({ id }) => control.queries.includes(id));
        return html`
          <h3>
            ${control.title} <span class="soft">${control.references.join(", ")}</span>
          </h3>
          <p>
            <${Prose} text=${control.shows} />
          </p>
          <p class="soft">Not shown: <${Prose} text=${control.does_not_show} /></p>
          ${control.evidence === "none" && html`
            <p class="warn">The log holds no row on this in the period.</p>
          `}
          <${Records} label=${control.title} heads=${["Question", "Rows", "First", "Last"]}
            rows=${asked.map(({ title, rows, first, last, event_types, result }) => [
              title,
              rows === 0 || !mayReadLog() ? rows.toLocaleString() : html`
                <a href=${addressOf("/audit", {
                  event_type: event_types.join(","),
                  result: result ?? "",
                  start_time: period.from,
                  end_time: period.to,
                })}>${rows.toLocaleString()}</a>
              `,
              html`<${PointerTo} row=${first} />`,
              html`<${PointerTo} row=${last} />`,
            ])} />
        `;
      })}
    </section>
  `;
}

/** Readers of reports need not be readers of the log. */
export const mayReadLog = (): boolean => may("audit:read") || may("system:read");

/** A row of the log by its time, with a link to the row. */
export function PointerTo({ row }: { readonly row: Pointer | null }) {
  if (row === null) return html`<span class="soft">none</span>`;
  const time = html`<${ExactTime} at=${row.timestamp} />`;
  return mayReadLog() ? html`<a href=${addressOf(`/audit/${row.event_id}`)}>${time}</a>` : time;
}

/** Rows that a reviewer should look at. */
export function ExceptionsPart({ exceptions: { found, listed } }: {
  readonly exceptions: Pack["exceptions"];
}) {
  return html`
    <section class="part">
      <h2>Exceptions</h2>
      <p>
        ${found === 0
          ? "No row needs a look."
          : `${found.toLocaleString()} rows that a reviewer should look at.`}
      </p>
      ${listed.length > 0 && html`
        <${Records} label="Exceptions" heads=${["Time", "Event", "Actor", "Resource"]}
          rows=${listed.map((row) => [
            html`<${PointerTo} row=${row} />`,
            onOneLine(row.event_type),
            html`<${Name} id=${row.actor} />`,
            html`
              <span class="soft">${row.resource_type.replaceAll("_", " ")}</span>${" "}
              <${Name} id=${row.resource_id} />
            `,
          ])} />
      `}
    </section>
  `;
}
