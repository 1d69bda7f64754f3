import { call, type Scope, type ScopeInfo } from "../api.ts";
import { type Data, useData } from "../data.ts";

/** A group of things of which any number may be chosen. */
export interface Choices {
  readonly title: string;
  readonly options: readonly { readonly value: string; readonly about?: string | undefined }[];
}

let known: Promise<readonly ScopeInfo[]> | null = null;

/** Every right, and what it allows. They change with the relay's version only, so they are fetched once. */
export const useScopes = (): Data<readonly ScopeInfo[]> => useData(loadOnce, []);

function loadOnce(): Promise<readonly ScopeInfo[]> {
  known ??= call("scopes.list").then(({ scopes }) => scopes);
  // The next use tries again.
  known.catch(() => known = null);
  return known;
}

/** The rights that pass the filter, in groups by what they are about, for boxes to tick. */
export function scopeGroups(
  scopes: readonly ScopeInfo[],
  filter: (scope: Scope) => boolean,
): readonly Choices[] {
  const groups = new Map<string, Choices["options"]>();
  for (const { name, description } of scopes.filter(({ name }) => filter(name))) {
    const [about] = name.split(":") as [string];
    groups.set(about, [...groups.get(about) ?? [], { value: name, about: description }]);
  }
  return [...groups].map(([title, options]) => ({ title, options }));
}
