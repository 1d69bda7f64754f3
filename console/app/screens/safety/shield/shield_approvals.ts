import { useState } from "preact/hooks";
import { call, type ShieldSettings } from "../../../api.ts";
import { ChangeError, type Control, Field, useChange } from "../../../components/form.ts";
import { durationOf } from "../../../components/duration.ts";
import { html } from "htm/preact";
import { may } from "../../../session.ts";

/** How many people decide about a held command, which roles they need, and how long it waits. */
export function ShieldApprovals({ settings, changed }: {
  readonly settings: ShieldSettings;
  readonly changed: () => void;
}) {
  const { required, roles, expires_seconds } = settings.approvals;
  const [isOpen, setOpen] = useState(false);
  const done = () => {
    setOpen(false);
    changed();
  };
  return html`
    <section class="card">
      <h2>Approvals</h2>
      <dl class="facts">
        <dt>People who must approve</dt><dd>${required}</dd>
        <dt>Roles that may decide</dt>
        <dd>${roles.length === 0 ? "any with the right" : roles.join(", ")}</dd>
        <dt>A request waits</dt><dd>${durationOf(expires_seconds * 1_000)}</dd>
      </dl>
      ${may("system:write") && !isOpen && html`
        <p><button type="button" onClick=${() => setOpen(true)}>Change who approves</button></p>
      `}
      ${isOpen && html`
        <${ApprovalsForm} settings=${settings} onDone=${done} onCancel=${() => setOpen(false)} />
      `}
    </section>
  `;
}

function ApprovalsForm({ settings, onDone, onCancel }: {
  readonly settings: ShieldSettings;
  readonly onDone: () => void;
  readonly onCancel: () => void;
}) {
  const change = useChange();
  const [required, setRequired] = useState(`${settings.approvals.required}`);
  const [roles, setRoles] = useState(settings.approvals.roles.join(", "));
  const [minutes, setMinutes] = useState(`${settings.approvals.expires_seconds / 60}`);
  const submit = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      await call("shield.change", {
        body: {
          approvals: {
            required: Number(required),
            roles: roles.split(",").map((role) => role.trim()).filter((role) => role !== ""),
            expires_seconds: Math.round(Number(minutes) * 60),
          },
        },
      });
      onDone();
    });
  };
  const input = (
    label: string,
    value: string,
    set: (value: string) => void,
    rest: Record<string, unknown>,
    hint?: string,
  ) =>
    html`
      <${Field} label=${label} hint=${hint}>${(control: Control) =>
        html`
          <input ...${control} value=${value} autocomplete="off" ...${rest}
            onInput=${(event: Event) => set((event.target as HTMLInputElement).value)} />
        `}<//>
    `;
  return html`
    <form onSubmit=${submit}>
      ${input("People who must approve", required, setRequired, {
        type: "number",
        min: 1,
        required: true,
      })}
      ${input(
        "Roles that may decide",
        roles,
        setRoles,
        {},
        "Separated by commas. Empty for any role with the right.",
      )}
      ${input("Minutes that a request waits", minutes, setMinutes, {
        type: "number",
        min: 1,
        step: "any",
        required: true,
      })}
      <p class="soft">Requests that wait now are judged again when somebody decides.</p>
      <${ChangeError} change=${change} />
      <div class="actions">
        <button type="submit" class="primary" disabled=${change.isBusy}>Save</button>
        <button type="button" onClick=${onCancel}>Cancel</button>
      </div>
    </form>
  `;
}
