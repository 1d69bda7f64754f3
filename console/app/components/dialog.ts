import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { html } from "htm/preact";

/** A dialog over the page. Escape and the browser's own ways of closing it call `onClose`. */
export function Dialog({ title, onClose, children }: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current!.showModal();
    return () => dialog.current?.close();
  }, []);
  return html`
    <dialog ref=${dialog} aria-label=${title} onClose=${onClose} onCancel=${onClose}>
      <h2>${title}</h2>
      ${children}
    </dialog>
  `;
}
