import { useEffect, useState } from "preact/hooks";
import { call, type TelegramLink } from "../../api.ts";
import { Copy } from "../../components/copy.ts";
import { ChangeError, ConfirmButton, useChange } from "../../components/form.ts";
import { Failure, Loading } from "../../components/states.ts";
import { now, Time, TimeLeft } from "../../components/time.ts";
import { onOneLine } from "../../components/visible_text.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";

/** Telegram accounts with which the viewer decides requests. */
export function TelegramLinks() {
  const { data, error, again } = useData(
    (signal) => call("telegram_links.list", { query: { limit: 50 }, signal }),
    [],
    { types: ["telegram_link"] },
  );
  const change = useChange();
  const [code, setCode] = useState<{ message: string; expires_at: string } | null>(null);
  const count = data?.telegram_links.length ?? 0;
  // A code links one account.
  useEffect(() => setCode(null), [count]);
  const isOpen = code !== null && Date.parse(code.expires_at) > now.value;
  const create = () =>
    change.run(async () => setCode(await call("telegram_links.create", { body: {} })));
  return html`
    <section class="card" aria-label="Telegram">
      <h2>Telegram</h2>
      <p>With a linked account you approve and reject requests by the buttons of the bot's messages.</p>
      ${error !== null && html`<${Failure} error=${error} again=${again} />`}
      ${data === null && error === null && html`<${Loading} />`}
      <ul class="rows">
        ${data?.telegram_links.map((link) =>
          html`<${Row} key=${link.id} link=${link} again=${again} />`
        )}
      </ul>
      ${isOpen && html`
        <p>Send this to the bot within <${TimeLeft} until=${code.expires_at} />:</p>
        <${Copy} text=${code.message} />
      `}
      <${ChangeError} change=${change} />
      <p><button type="button" disabled=${change
        .isBusy} onClick=${create}>Link an account</button></p>
    </section>
  `;
}

function Row({ link: { id, username, telegram_id, created_at }, again }: {
  readonly link: TelegramLink;
  readonly again: () => void;
}) {
  const change = useChange();
  const name = onOneLine(username ?? telegram_id);
  const remove = async () => {
    await call("telegram_links.delete", { params: { id } });
    again();
  };
  return html`
    <li>
      <p>${name} <span class="soft"><${Time} at=${created_at} /></span></p>
      <${ConfirmButton} label="Remove" change=${change} action=${remove}
        question=${`${name} can no longer decide requests for you.`} />
    </li>
  `;
}
