import { useEffect, useState } from "preact/hooks";
import { html } from "htm/preact";
import { type Draft, draftOf, type Edit } from "../draft.ts";

interface DraftField<T> extends Draft<T> {
  readonly set: (value: T) => void;
  /** To be called after a save: the field follows the relay again, whose value may be a tidied one. */
  readonly saved: () => void;
}

/**
 * A field that follows the relay's value until somebody types, so that saving a form does not undo what others changed
 * meanwhile.
 */
export function useDraft<T>(present: T): DraftField<T> {
  const [edit, setEdit] = useState<Edit<T> | null>(null);
  const draft = draftOf(edit, present);
  useEffect(() => {
    if (!draft.isChanged) setEdit(null);
  }, [JSON.stringify(present)]);
  return {
    ...draft,
    set: (typed) =>
      setEdit((now) => ({
        typed,
        base: now === null || now.isSaved ? present : now.base,
        isSaved: false,
      })),
    saved: () => setEdit((now) => now && { ...now, isSaved: true }),
  };
}

/** Says that others changed what the viewer is changing. */
export const Overtaken = ({ drafts }: { readonly drafts: readonly Draft<unknown>[] }) =>
  html`
    <p class="warn" role="status">${drafts.some(({ isOvertaken }) => isOvertaken) &&
      "Somebody changed this after you began. Saving replaces their change."}</p>
  `;
