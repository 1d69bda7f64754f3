/** What somebody typed, and the relay's value when they began. */
export interface Edit<T> {
  readonly typed: T;
  readonly base: T;
  /** True after a save, until the relay's new value is here. */
  readonly isSaved: boolean;
}

/** A field of a form over a value of the relay. */
export interface Draft<T> {
  readonly value: T;
  /** True when saving would change the relay's value. */
  readonly isChanged: boolean;
  /** True when the relay's value changed after the viewer began to type. */
  readonly isOvertaken: boolean;
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** The state of a field, from what was typed and the present value of the relay. */
export function draftOf<T>(edit: Edit<T> | null, present: T): Draft<T> {
  const value = edit === null ? present : edit.typed;
  if (edit === null || edit.isSaved || isSame(edit.typed, present)) {
    return { value, isChanged: false, isOvertaken: false };
  }
  return { value, isChanged: true, isOvertaken: !isSame(edit.base, present) };
}
