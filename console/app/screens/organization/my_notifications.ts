import { useEffect } from "preact/hooks";
import { call, type Notification } from "../../api.ts";
import { ChangeError, useChange } from "../../components/form.ts";
import { screenOf } from "../../components/names.ts";
import { Failure, Loading } from "../../components/states.ts";
import { Time } from "../../components/time.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { onNotification } from "../../live/live.ts";
import { addressOf } from "../../router.ts";

const SHOWN = 20;

/** What the viewer was told. */
export function MyNotifications() {
  const { data, error, again } = useData(
    (signal) => call("account.notifications", { query: { limit: SHOWN }, signal }),
    [],
  );
  useEffect(() => onNotification(again), []);
  const change = useChange();
  const readAll = () =>
    change.run(async () => {
      const unread = data!.notifications.filter(({ read_at }) => read_at === null);
      await Promise.all(
        unread.map(({ id }) => call("account.read_notification", { params: { id }, body: {} })),
      );
      again();
    });
  return html`
    <section class="card" aria-label="My notifications">
      <h2>My notifications${data !== null && data.unread > 0 && `, ${data.unread} unread`}</h2>
      ${error !== null && html`<${Failure} error=${error} again=${again} />`}
      ${data === null && error === null && html`<${Loading} />`}
      ${data?.notifications.length === 0 && html`<p class="soft">There are none.</p>`}
      <ul class="rows">
        ${data?.notifications.map((one) => html`<${Row} key=${one.id} notification=${one} />`)}
      </ul>
      <${ChangeError} change=${change} />
      ${data !== null && data.unread > 0 && html`
        <p><button type="button" disabled=${change.isBusy} onClick=${readAll}>
          Mark these as read
        </button></p>
      `}
    </section>
  `;
}

function Row({ notification }: { readonly notification: Notification }) {
  const { type, resource_id, created_at, read_at } = notification;
  const screen = screenOf(resource_id);
  const words = type.replaceAll("_", " ");
  return html`
    <li>
      <p>
        ${screen === null ? words : html`<a href=${addressOf(screen)}>${words}</a>`}
        <br /><span class="soft"><${Time} at=${created_at} /></span>
      </p>
      ${read_at === null && html`<span class="label">new</span>`}
    </li>
  `;
}
