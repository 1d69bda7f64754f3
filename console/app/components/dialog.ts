import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { html } from "htm/preact";

/**
 * A dialog over the page. Escape and the browser's own ways of closing it call `onClose`; it stays open as long as its
 * parent shows it.
 */
export function Dialog({ title, onClose, children }: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const isLeft = useRef(false);
  useEffect(() => {
    dialog.current!.showModal();
    return () => {
      isLeft.current = true;
      // This gives the focus back.
      dialog.current?.close();
    };
  }, []);
  const closed = () => {
    // The event of its own end comes later, when the parent may show another dialog.
    if (isLeft.current) return;
    onClose();
    // A parent that drops the dialog has done so by the next task.
    setTimeout(() => dialog.current?.open === false && dialog.current.showModal());
  };
  return html`
    <dialog ref=${dialog} aria-label=${title} onClose=${closed}>
      <h2>${title}</h2>
      ${children}
    </dialog>
  `;
}
