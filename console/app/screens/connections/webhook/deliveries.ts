import { call, type Delivery, type DeliveryEventType, type DeliveryStatus } from "../../../api.ts";
import { Badge } from "../../../components/badge.ts";
import { Chart } from "../../../components/chart.ts";
import { ChoiceFilter } from "../../../components/filters.ts";
import { InstantFilter } from "../../../components/instants.ts";
import { Empty } from "../../../components/states.ts";
import { type Column, Table } from "../../../components/table.ts";
import { now, Time } from "../../../components/time.ts";
import { html } from "htm/preact";
import { offsetPage, type Pages, usePages } from "../../../pages.ts";
import { addressOf, query } from "../../../router.ts";
import { useFollowing, useRepeat } from "../../../repeat.ts";
import {
  answerWords,
  ATTEMPTS_EVERY_MS,
  CAUSES,
  FOLLOWS_MS,
  isDue,
  MISSED_MS,
} from "./delivery_words.ts";

const STATUSES = ["pending", "sending", "succeeded", "failed", "timed_out"];

const COLUMNS: readonly Column<Delivery>[] = [
  {
    title: "Event",
    width: "minmax(10rem, 2fr)",
    cell: ({ id, webhook_id, event_type, test }) =>
      html`
        <a href=${addressOf(`/webhooks/${webhook_id}/deliveries/${id}`)}>${event_type}</a>
        ${test && html`<span class="label">test</span>`}
      `,
  },
  {
    title: "State",
    width: "7rem",
    cell: ({ status, held }) => html`<${Badge} state=${held ? "held" : status} />`,
  },
  {
    title: "Answer",
    width: "minmax(8rem, 2fr)",
    wideOnly: true,
    cell: (delivery) => delivery.attempt > 0 && answerWords(delivery),
  },
  {
    title: "Attempts",
    width: "9rem",
    cell: ({ attempt, next_attempt_at }) =>
      html`${attempt}${next_attempt_at !== null && html`, next <${Time} at=${next_attempt_at} />`}`,
  },
  {
    title: "Took",
    width: "5rem",
    wideOnly: true,
    cell: ({ response_time_ms: ms }) => ms === null ? "" : `${Math.round(ms)} ms`,
  },
  { title: "Created", width: "8rem", cell: ({ created_at }) => html`<${Time} at=${created_at} />` },
];

/** The deliveries of a webhook that match the filters of the address. */
export function useDeliveries(id: string): Pages<Delivery> {
  const { status = "", type = "", since = "", until = "" } = query.value;
  const list = usePages(
    async (from, signal) => {
      const { deliveries, pagination } = await call("webhooks.deliveries", {
        params: { id },
        query: {
          limit: 100,
          offset: Number(from ?? 0),
          ...status === "held" ? { held: "true" } : status !== "" && {
            status: status as DeliveryStatus,
          },
          ...type !== "" && { event_type: type as DeliveryEventType },
          ...since !== "" && { since },
          ...until !== "" && { until },
        },
        signal,
      });
      return offsetPage(deliveries, pagination);
    },
    [id, status, type, since, until],
    { types: ["webhook"], id, everyMs: ATTEMPTS_EVERY_MS },
  );
  useFollowing(CAUSES, FOLLOWS_MS, list.again);
  const isAnyDue = list.rows?.some((delivery) => isDue(delivery, now.value)) ?? false;
  useRepeat(isAnyDue, MISSED_MS, list.again);
  return list;
}

/** The delivery log of a webhook. */
export function Deliveries({ list, events }: {
  readonly list: Pages<Delivery>;
  readonly events: readonly string[];
}) {
  const { status = "", type = "", since = "", until = "" } = query.value;
  const isFiltered = `${status}${type}${since}${until}` !== "";
  return html`
    <h2>Deliveries</h2>
    <${ResponseTimes} deliveries=${list.rows ?? []} />
    <div class="filters">
      <${ChoiceFilter} name="status" label="State" choices=${[...STATUSES, "held"]} />
      <${ChoiceFilter} name="type" label="Event"
        choices=${[...new Set(["ping", ...events, ...type === "" ? [] : [type]])]} />
      <${InstantFilter} name="since" label="Created from" />
      <${InstantFilter} name="until" label="Until" />
    </div>
    <${Table}
      label="Deliveries" list=${list} columns=${COLUMNS} keyOf=${({ id }: Delivery) => id}
      opens=${({ id, webhook_id }: Delivery) => `/webhooks/${webhook_id}/deliveries/${id}`}
      empty=${html`
        <${Empty} title=${isFiltered ? "No deliveries match the filters" : "No deliveries yet"}>
          <p>${isFiltered
            ? "Change the filters above."
            : "Send a test event, or wait for the first event that the webhook subscribes to."}</p>
          <//>
      `}
    />
  `;
}

/** How long the latest deliveries took, oldest first. */
function ResponseTimes({ deliveries }: { readonly deliveries: readonly Delivery[] }) {
  const measured = deliveries.slice(0, 60).filter(({ response_time_ms }) =>
    response_time_ms !== null
  )
    .reverse();
  if (measured.length < 2) return null;
  const time = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
  const points = measured.map(({ created_at, response_time_ms: ms, status }) => ({
    at: time.format(Date.parse(created_at)),
    values: status === "succeeded" ? [Math.round(ms!), 0] : [0, Math.round(ms!)],
  }));
  return html`
    <div class="card">
      <${Chart} kind="bars" title="Response times of the latest deliveries" unit="ms"
        series=${[{ name: "succeeded", tone: "good" }, { name: "failed", tone: "bad" }]}
        points=${points} />
    </div>
  `;
}
