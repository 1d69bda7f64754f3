import type { ComponentChildren } from "preact";
import { RelayError } from "../../../core/client/client.ts";
import { html } from "htm/preact";
import { Copy } from "./copy.ts";

/** Shown while the first data is on its way; it appears only after a moment, so that nothing flickers. */
export function Loading() {
  return html`<p class="loading" role="status">Loading…</p>`;
}

/** A failed fetch, with what to do next. */
export function Failure({ error, again }: {
  readonly error: unknown;
  readonly again?: () => void;
}) {
  const requestId = error instanceof RelayError ? error.requestId : null;
  return html`
    <div class="failure" role="alert">
      <p>${messageOf(error)}</p>
      ${requestId !== null && html`<p class="soft">Request <code>${requestId}</code></p>`}
      ${again && html`<button type="button" onClick=${again}>Try again</button>`}
    </div>
  `;
}

/** What a failure says to people. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const issues = error instanceof RelayError ? error.details.issues : null;
  if (!Array.isArray(issues)) return error.message;
  return `${error.message} ${issues.map(({ path, message }) => `${path}: ${message}`).join("; ")}`;
}

/** A list without rows: what would fill it, and the next command to copy. */
export function Empty({ title, command, children }: {
  readonly title: string;
  readonly command?: string;
  readonly children?: ComponentChildren;
}) {
  return html`
    <div class="empty">
      <h2>${title}</h2>
      ${children}
      ${command && html`<${Copy} text=${command} />`}
    </div>
  `;
}
