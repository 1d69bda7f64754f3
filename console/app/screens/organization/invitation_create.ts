import { useState } from "preact/hooks";
import { call, type Role, type Scope } from "../../api.ts";
import { ChangeError, useChange } from "../../components/form.ts";
import { CheckGroups, TextField } from "../../components/inputs.ts";
import { ShownOnce } from "../../components/shown_once.ts";
import { html } from "htm/preact";
import { setQuery } from "../../router.ts";
import { me } from "../../session.ts";
import { mayGive } from "./permissions.ts";

/** Invites a person, and shows the link to send to them. */
export function InvitationCreate({ roles, all }: {
  readonly roles: readonly Role[];
  readonly all: readonly Scope[];
}) {
  const change = useChange();
  const [email, setEmail] = useState("");
  const [days, setDays] = useState("7");
  const offered = roles.filter((role) => mayGive(me.value!, role, all));
  const [chosen, setChosen] = useState<readonly string[]>(
    offered.some(({ name }) => name === "viewer") ? ["viewer"] : [],
  );
  const [link, setLink] = useState<string | null>(null);
  const close = () => setQuery({ invite: "" });
  if (link !== null) {
    return html`
      <${ShownOnce} title="The invitation's link" text=${link} done="I have sent it" onDone=${close}
        about=${`Send it to ${
          email || "the person"
        }. It works once. Relay does not show it again.`} />
    `;
  }
  const submit = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      const { url } = await call("invitations.create", {
        body: { ...email !== "" && { email }, roles: chosen, expires_days: Number(days) },
      });
      setLink(new URL(url, location.origin).href);
    });
  };
  return html`
    <form class="card" onSubmit=${submit} aria-label="Invite a person">
      <h2>Invite a person</h2>
      <div class="pair">
        <${TextField} label="E-mail" type="email" value=${email} onInput=${setEmail}
          hint="With an address, only that person can use the invitation." />
        <${TextField} label="Expires after days" type="number" min=${1} max=${30}
          value=${days}
          onInput=${setDays} required />
      </div>
      <${CheckGroups} legend="Roles" chosen=${chosen} onChange=${setChosen} groups=${[{
        title: "Roles that you may give",
        options: offered.map((role) => ({
          value: role.name,
          about: role.permissions.includes("all")
            ? "every right"
            : `${role.permissions.length} rights`,
        })),
      }]} />
      <${ChangeError} change=${change} />
      <div class="actions">
        <button type="submit" class="primary" disabled=${change.isBusy || chosen.length === 0}>
          Make the invitation
        </button>
        <button type="button" disabled=${change.isBusy} onClick=${close}>Cancel</button>
      </div>
    </form>
  `;
}
