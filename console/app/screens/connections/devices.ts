import { call, type Device } from "../../api.ts";
import { Badge } from "../../components/badge.ts";
import { ChoiceFilter } from "../../components/filters.ts";
import { Name, useNames } from "../../components/names.ts";
import { Empty } from "../../components/states.ts";
import { type Column, Table } from "../../components/table.ts";
import { Time } from "../../components/time.ts";
import { onOneLine } from "../../components/visible_text.ts";
import { html } from "htm/preact";
import { offsetPage, usePages } from "../../pages.ts";
import { addressOf, placeWith, query, setQuery } from "../../router.ts";
import { may } from "../../session.ts";
import { DeviceDialog } from "./device_dialog.ts";
import { PairingCodes } from "./pairing_codes.ts";

const COLUMNS: readonly Column<Device>[] = [
  {
    title: "Name",
    width: "minmax(9rem, 2fr)",
    cell: ({ id, name }) =>
      html`
        <button type="button" class="plain" onClick=${() => setQuery({ device: id })}>${onOneLine(
          name,
        )}</button>
      `,
  },
  {
    title: "Trust",
    width: "7rem",
    cell: ({ trust_status }) =>
      html`<${Badge} state=${trust_status} tone=${trust_status === "trusted" ? "good" : "warn"} />`,
  },
  {
    title: "Agent",
    width: "minmax(8rem, 2fr)",
    cell: ({ agent_id, agent_name }) =>
      agent_id === null
        ? html`<span class="soft">${
          agent_name === null ? "none" : `none yet; ${onOneLine(agent_name)} is reserved`
        }</span>`
        : html`<a href=${addressOf(`/agents/${agent_id}`)}>${
          onOneLine(agent_name ?? agent_id)
        }</a>`,
  },
  {
    title: "Last seen",
    width: "8rem",
    cell: ({ last_seen_at }) => html`<${Time} at=${last_seen_at} />`,
  },
  {
    title: "Code by",
    width: "minmax(8rem, 1fr)",
    wideOnly: true,
    cell: ({ created_by }) => html`<${Name} id=${created_by} />`,
  },
  {
    title: "Paired",
    width: "8rem",
    wideOnly: true,
    cell: ({ created_at }) => html`<${Time} at=${created_at} />`,
  },
];

/** Machines that were paired, and the codes that can still pair one. */
export default function Devices() {
  useNames();
  const { trust = "", device } = query.value;
  const list = usePages(
    async (from, signal) => {
      const { devices, pagination } = await call("devices.list", {
        query: {
          limit: 200,
          offset: Number(from ?? 0),
          trust_status: (trust || undefined) as "pending" | "trusted" | undefined,
        },
        signal,
      });
      return offsetPage(devices, pagination);
    },
    [trust],
    { types: ["device", "agent"] },
  );
  return html`
    <div class="title">
      <h1>Devices</h1>
      ${may("agents:admin") && html`
        <a class="button primary" href=${addressOf("/agents/add")}>Add a machine</a>
      `}
    </div>
    <p>A device is a machine that was paired with a one-time code. Its credential opens the link of its
      own agent, and nothing else.</p>
    <${PairingCodes} />
    <div class="filters">
      <${ChoiceFilter} name="trust" label="Trust" choices=${["pending", "trusted"]} />
    </div>
    <${Table}
      label="Devices" list=${list} columns=${COLUMNS} keyOf=${({ id }: Device) => id}
      opens=${({ id }: Device) => placeWith({ device: id })}
      empty=${html`
        <${Empty} title=${trust === ""
          ? "No machine was paired yet"
          : "No device fits this filter"} />
      `}
    />
    ${device !== undefined && html`
      <${DeviceDialog} key=${device} id=${device} onClose=${() => setQuery({ device: "" })} />
    `}
  `;
}
