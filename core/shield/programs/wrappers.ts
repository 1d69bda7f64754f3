import { FAMILIES } from "./families.ts";
import { type Wrapper, wrapperOf } from "./wrapper.ts";

const WRAPPERS = new Map<string, Wrapper[]>();

for (const { names, wrappers = [] } of FAMILIES) {
  const filled = wrappers.map(wrapperOf);
  for (const name of names) WRAPPERS.set(name, [...WRAPPERS.get(name) ?? [], ...filled]);
}

/** The ways in which a program runs another one; empty for programs that run none. */
export function wrappersOf(name: string): readonly Wrapper[] {
  const isLoader = name.startsWith("ld-linux") || name.startsWith("ld-musl");
  return WRAPPERS.get(isLoader ? "ld.so" : name) ?? NONE;
}

const NONE: readonly Wrapper[] = [];
