import type { ArrayValue, Word } from "unbash";
import { spend } from "./budget.ts";
import { perhaps, UNKNOWN } from "../model.ts";
import { expandText, expandWord, type Expansion } from "./expand.ts";
import type { Scope } from "./scope.ts";

/** The words of `name=(a b)`; null where elements are put at places of their own: `name=([1]=a)`. */
export function elementsOf({ elements }: ArrayValue, expansion: Expansion): string[] | null {
  if (elements.some(({ text }) => text.startsWith("["))) return null;
  return elements.flatMap((element) => expandWord(element, expansion));
}

/** Remembers the elements of `name=(a b)`, so that `${name[1]}` and `"${name[@]}"` are known. */
export function assignElements(name: string, words: readonly string[], scope: Scope): void {
  spend(scope.inspection.budget, words.reduce((sum, word) => sum + word.length + 1, 0));
  scope.values.setList(name, words);
}

/** `name[1]=value`. */
export function assignElement(name: string, index: string, value: string, scope: Scope): void {
  const words = scope.values.list(name) ?? (scope.values.get(name) === undefined ? [] : null);
  spend(scope.inspection.budget, words?.length ?? 0);
  if (words === null || !/^(0|[1-9]\d*)$/.test(index)) {
    return mix(name, value, scope);
  }
  const at = Number(index);
  if (at > words.length) return mix(name, value, scope);
  scope.values.setList(name, [...words.slice(0, at), value, ...words.slice(at + 1)]);
}

/** The elements before `name+=(a b)` appends to them; null where their number is unknown. */
export function heldElements(name: string, scope: Scope): readonly string[] | null {
  const text = scope.values.get(name);
  return scope.values.list(name) ??
    (text === undefined ? [] : text.includes(UNKNOWN) ? null : [text]);
}

/** Makes a name an array whose order of elements is unknown. */
export function mix(name: string, value: string, scope: Scope): void {
  scope.values.set(name, perhaps(`${scope.values.get(name) ?? ""} ${value}`));
}

/** The value of an assignment; an array's elements are joined. */
export function expandValue(value: Word | ArrayValue, expansion: Expansion): string {
  if (value.type === "Word") return expandText(value, expansion);
  return value.elements.map((element) => expandText(element, expansion)).join(" ");
}
