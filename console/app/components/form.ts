import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { html } from "htm/preact";
import { isSignedOut, readSession } from "../session.ts";
import { messageOf } from "./states.ts";

/** A change that is under way, and why the last one failed. */
export interface Change {
  readonly isBusy: boolean;
  readonly error: unknown;
  /** Runs a change; resolves to true when it succeeded. One at a time. */
  readonly run: (change: () => Promise<unknown>) => Promise<boolean>;
}

/** Runs changes of the API for a form or button. What was typed stays when a change fails. */
export function useChange(): Change {
  const [state, setState] = useState<{ isBusy: boolean; error: unknown }>({
    isBusy: false,
    error: null,
  });
  // A second click may come before the state of the first is drawn.
  const busy = useRef(false);
  return {
    ...state,
    async run(change) {
      if (busy.current) return false;
      busy.current = true;
      setState({ isBusy: true, error: null });
      try {
        await change();
        setState({ isBusy: false, error: null });
        return true;
      } catch (error) {
        if (isSignedOut(error)) await readSession().catch(() => {});
        setState({ isBusy: false, error });
        return false;
      } finally {
        busy.current = false;
      }
    },
  };
}

/** What ties a control to its label and its hint. */
export interface Control {
  readonly id: string;
  readonly "aria-describedby"?: string;
}

/** A labelled field with one control. */
export function Field({ label, hint, children }: {
  readonly label: string;
  readonly hint?: string;
  readonly children: (control: Control) => ComponentChildren;
}) {
  const id = useId();
  const hintId = `${id}-hint`;
  return html`
    <div class="field">
      <label for=${id}>${label}</label>
      ${children({ id, ...hint && { "aria-describedby": hintId } })}
      ${hint && html`<p class="soft" id=${hintId}>${hint}</p>`}
    </div>
  `;
}

/** The reason why a change failed, or nothing. */
export const ChangeError = ({ change }: { readonly change: Change }) =>
  change.error === null ? null : html`<p class="bad" role="alert">${messageOf(change.error)}</p>`;

/**
 * A button whose effect is not undone easily: it asks once more, in place. `label` says what happens, as in
 * "Revoke the key".
 */
export function ConfirmButton({ label, question, change, action, children }: {
  readonly label: string;
  readonly question: string;
  readonly change: Change;
  readonly action: () => Promise<unknown>;
  readonly children?: ComponentChildren;
}) {
  const [asks, setAsks] = useState(false);
  const place = useRef<HTMLElement>(null);
  const wasAsked = useRef(false);
  // The focus stays where the viewer works: on the question, and on the button again afterwards.
  useEffect(() => {
    if (asks || wasAsked.current) place.current?.focus();
    wasAsked.current = asks;
  }, [asks]);
  if (!asks) {
    return html`
      <button type="button" ref=${place} onClick=${() => setAsks(true)}>${label}</button>
    `;
  }
  const confirm = async () => await change.run(action) && setAsks(false);
  return html`
    <div class="confirm" role="group" aria-label=${label} tabindex="-1" ref=${place}
      onKeyDown=${(event: KeyboardEvent) => event.key === "Escape" && setAsks(false)}>
      <p>${question}</p>
      ${children}
      <${ChangeError} change=${change} />
      <button type="button" class="danger" disabled=${change
        .isBusy} onClick=${confirm}>${label}</button>
      <button type="button" onClick=${() => setAsks(false)}>Cancel</button>
    </div>
  `;
}
