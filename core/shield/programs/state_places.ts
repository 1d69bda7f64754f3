import { fullBudget } from "../interpreter/budget.ts";
import { matchesGlob } from "../interpreter/glob.ts";
import { hasGlob, normalizePath } from "./paths.ts";

/** The start of a state folder's name; the agent warns about a folder with another name. */
export const FOLDER = "relay-agent";
/** The files that decide who the agent is and whom it obeys. */
export const KEY_FILES = [
  "credential.json",
  "agent-key.json",
  "verdict-key",
  "newly-paired",
  "audit-key",
  "audit-checkpoint",
];
/** The name that the documentation gives the credential among those of systemd. */
export const SYSTEMD_CREDENTIAL = "relay-token";

/** A folder that holds a credential by default. */
interface Place {
  /** The folders from the root or the home down to it; `*` is any name. */
  readonly parts: readonly string[];
  /** From this depth on, hardly anything else lies below the folder. */
  readonly own: number;
  /** A reader of the folder at this depth, or deeper, counts as a reader of the credential. */
  readonly from: number;
  /** The files in it, by name. */
  readonly files: readonly string[];
}

const HOME_PLACE: Place = {
  parts: [".local", "state", FOLDER],
  own: 1,
  from: 0,
  files: KEY_FILES,
};

const inHome = (...home: readonly string[]): Place => ({
  ...HOME_PLACE,
  parts: [...home, ...HOME_PLACE.parts],
  own: home.length + 1,
});

/** The places below the root. */
const PLACES: readonly Place[] = [
  { parts: ["var", "lib", FOLDER], own: 3, from: 0, files: KEY_FILES },
  { parts: ["run", "credentials", "*"], own: 2, from: 0, files: [SYSTEMD_CREDENTIAL] },
  // Searches and backups of all settings are everyday work.
  { parts: ["etc", "relay"], own: 2, from: 2, files: ["token"] },
  inHome("root"),
  inHome("home", "*"),
  inHome("users", "*"),
];

/** Whether a part of a path is this name, or a pattern that the name fits. */
export function mayBe(part: string, name: string): boolean {
  if (part === name || name === "*") return true;
  if (!hasGlob(part) || name.startsWith(".") && !part.startsWith(".")) return false;
  return matchesGlob(part, name, fullBudget());
}

/** The places that may lie at or below a path, and how deep in each the path is. */
function placesBelow(raw: string): { readonly place: Place; readonly depth: number }[] {
  const path = normalizePath(raw).toLowerCase();
  const isHome = path.startsWith("~");
  // `~/..` is the folder of all homes.
  if (!isHome && !raw.startsWith("/") && !raw.startsWith("~")) return [];
  const parts = path.split("/").filter((part) => part !== "" && part !== "..");
  const below = isHome ? parts.slice(1) : parts;
  return (isHome ? [HOME_PLACE] : PLACES)
    .filter((place) =>
      below.length <= place.parts.length && below.every((part, at) => mayBe(part, place.parts[at]!))
    )
    .map((place) => ({ place, depth: below.length }));
}

/** Whether state lies below a path, and hardly anything else. */
export const holdsMostlyState = (path: string): boolean =>
  placesBelow(path).some(({ place, depth }) => depth >= place.own);

/** Whether state lies below a path, among all else that may be there. */
export const holdsState = (path: string): boolean =>
  placesBelow(path).some(({ place, depth }) => depth >= place.from);

/** Whether a search finds what has this name and path, so many folders below its start. */
type Finds = (name: string, path: string, depth: number) => boolean;

/** The state that a search, by name or not, may find below a folder: of each place the first path. */
export function stateBelow(folder: string, finds: Finds, isNamed: boolean): string[] {
  const start = folder.replace(/\/+$/, "");
  return placesBelow(folder).flatMap(({ place, depth }) => {
    if (depth < place.from && !isNamed) return [];
    const rest = place.parts.slice(depth);
    const files = place.files.map((file) => [...rest, file]);
    const folders = rest.map((_, at) => rest.slice(0, rest.length - at));
    const found = [...files, ...folders].find((parts) => {
      const name = parts.at(-1)!;
      return name !== "*" && finds(name, [start, ...parts].join("/"), parts.length);
    });
    return found === undefined ? [] : [[start, ...found].join("/")];
  });
}
