import { useState } from "preact/hooks";
import { call } from "../../api.ts";
import { ConfirmButton, useChange } from "../../components/form.ts";
import { ShownOnce } from "../../components/shown_once.ts";
import { html } from "htm/preact";

/** Makes a link with which a person sets a new password. */
export function PasswordLink({ id, email }: { readonly id: string; readonly email: string }) {
  const change = useChange();
  const [link, setLink] = useState<string | null>(null);
  const make = async () => {
    const { url } = await call("users.reset_password", { params: { id }, body: {} });
    setLink(new URL(url, location.origin).href);
  };
  if (link !== null) {
    return html`
      <${ShownOnce} title="The link for a new password" text=${link} done="I have sent it"
        about=${`Send it to ${email}. It works once, within 24 hours. Relay does not show it again.`}
        onDone=${() => setLink(null)} />
    `;
  }
  return html`
    <${ConfirmButton} label="Make a password link" change=${change} action=${make}
      question=${`Whoever has the link sets the password of ${email} and ends their sessions. An earlier link stops working.`} />
  `;
}
