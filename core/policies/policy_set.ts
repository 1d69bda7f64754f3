import { hash } from "node:crypto";
import { POLICIES_ID, type PolicyItem, type PolicySetRecord } from "../../kv/records/gitops.ts";

/** Hexadecimal digits of a set's version. */
const VERSION_CHARS = 16;

/** The set of these policies, sorted by name: their rules apply in this order. */
export function setOf(items: readonly PolicyItem[]): PolicySetRecord {
  const sorted = items.toSorted((a, b) => a.name < b.name ? -1 : 1);
  return { id: POLICIES_ID, version: versionOfItems(sorted), items: sorted };
}

/** The version that identifies exactly these policies in this order; empty for none. */
const versionOfItems = (items: readonly PolicyItem[]): string =>
  items.length === 0
    ? ""
    : hash("sha256", items.map(({ name, digest }) => `${name} ${digest}`).join("\n"))
      .slice(0, VERSION_CHARS);

/** The id of a version's record; the padding keeps ids in the order of the numbers. */
export const versionId = ({ id, version }: Pick<PolicyItem, "id" | "version">): string =>
  `${id}.${String(version).padStart(6, "0")}`;
