import type { Word } from "unbash";
import { expandText, expandWord, type Expansion } from "./expand.ts";
import type { Scope } from "./scope.ts";

/** Elements that are remembered one by one, as `name[0]`; further ones only in the joined text. */
const MAX_ELEMENTS = 32;

/** Remembers the elements of `name=(a b)`, so that `${name[1]}` and `"${name[@]}"` are known. */
export function assignElements(
  name: string,
  elements: readonly Word[],
  scope: Scope,
  expansion: Expansion,
): void {
  const words = elements.flatMap((element) => expandWord(element, expansion));
  for (const [i, word] of words.slice(0, MAX_ELEMENTS).entries()) {
    scope.values.set(`${name}[${i}]`, word);
  }
  scope.values.set(`${name}[#]`, String(Math.min(words.length, MAX_ELEMENTS)));
}

/** The value of an assignment; an array's elements are joined. */
export function expandValue(
  value: Word | { readonly type: "ArrayValue"; readonly elements: readonly Word[] },
  expansion: Expansion,
): string {
  if (value.type === "Word") return expandText(value, expansion);
  return value.elements.map((element) => expandText(element, expansion)).join(" ");
}
