import { useEffect, useRef } from "preact/hooks";
import { call, type Webhook } from "../../api.ts";
import { Badge } from "../../components/badge.ts";
import { Empty } from "../../components/states.ts";
import { type Column, Table } from "../../components/table.ts";
import { Time } from "../../components/time.ts";
import { onOneLine } from "../../components/visible_text.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { offsetPage, usePages } from "../../pages.ts";
import { useFollowing, useRepeat } from "../../repeat.ts";
import { addressOf, query, setQuery } from "../../router.ts";
import { may } from "../../session.ts";
import {
  ATTEMPTS_EVERY_MS,
  CAUSES,
  failureShare,
  FOLLOWS_MS,
  MISSED_MS,
} from "./webhook/delivery_words.ts";
import { WebhookCreate } from "./webhook/create.ts";

const COLUMNS: readonly Column<Webhook>[] = [
  {
    title: "Name",
    width: "minmax(9rem, 1fr)",
    cell: ({ id, name }) => html`<a href=${addressOf(`/webhooks/${id}`)}>${onOneLine(name)}</a>`,
  },
  {
    title: "URL",
    width: "minmax(10rem, 2fr)",
    wideOnly: true,
    cell: ({ url }) => html`<span class="mono" title=${onOneLine(url)}>${onOneLine(url)}</span>`,
  },
  { title: "State", width: "7rem", cell: (webhook) => html`<${State} webhook=${webhook} />` },
  {
    title: "Failures",
    width: "10rem",
    cell: (webhook) => html`<${Failures} webhook=${webhook} />`,
  },
  {
    title: "Last delivery",
    width: "8rem",
    cell: ({ last_delivery_at }) => html`<${Time} at=${last_delivery_at} />`,
  },
];

/** The state of a webhook. */
export function State({ webhook: { active, suspended } }: { readonly webhook: Webhook }) {
  if (suspended !== null) return html`<${Badge} state="suspended" tone="warn" />`;
  return html`<${Badge} state=${active ? "enabled" : "disabled"} />`;
}

/** How many of the latest deliveries failed. */
function Failures({ webhook: { id, delivery_count } }: { readonly webhook: Webhook }) {
  const { data, again } = useData(
    (signal) => call("webhooks.deliveries", { params: { id }, query: { limit: 50 }, signal }),
    [id],
  );
  const counted = useRef(delivery_count);
  // The list says which webhooks had an attempt: the others are not asked again.
  useEffect(() => {
    if (counted.current !== delivery_count) again();
    counted.current = delivery_count;
  }, [delivery_count]);
  if (data === null) return null;
  const share = failureShare(data.deliveries);
  if (share === null) return html`<span class="soft">no deliveries</span>`;
  const { failed, of } = share;
  return html`
    <span class=${failed === 0 ? "soft" : "bad"} title="Of the latest 50 deliveries">
      ${failed === 0 ? `none of ${of}` : `${failed} of ${of}`}
    </span>
  `;
}

/** All webhooks, and a form for a new one. */
export default function Webhooks() {
  const list = usePages(
    async (from, signal) => {
      const { webhooks, pagination } = await call("webhooks.list", {
        query: { limit: 100, offset: Number(from ?? 0) },
        signal,
      });
      return offsetPage(webhooks, pagination);
    },
    [],
    { types: ["webhook"], everyMs: ATTEMPTS_EVERY_MS },
  );
  useFollowing(CAUSES, 2 * FOLLOWS_MS, list.again);
  useRepeat(true, MISSED_MS, list.again);
  const creates = query.value.create !== undefined && may("system:write");
  const add = may("system:write") && html`
    <button type="button" class="primary" onClick=${() => setQuery({ create: "1" })}>
      Create a webhook
    </button>
  `;
  return html`
    <div class="title">
      <h1>Webhooks</h1>
      ${!creates && add}
    </div>
    ${creates && html`<${WebhookCreate} />`}
    <${Table}
      label="Webhooks" list=${list} columns=${COLUMNS} keyOf=${({ id }: Webhook) => id}
      opens=${({ id }: Webhook) => `/webhooks/${id}`}
      empty=${html`
        <${Empty} title="No webhooks" command="relay listen --forward http://localhost:3000/hook">
          <p>A webhook sends each event that you choose to an address of yours, signed.</p>
          <p>To receive events on your own machine without a public address:</p>
          <//>
      `}
    />
  `;
}
