import type { Work } from "../app.ts";
import { Fault } from "../fault.ts";
import { policySetOf } from "./book.ts";
import { showPolicy } from "./versions.ts";

/** One policy in force, with its document. @throws {Fault} POLICY_NOT_FOUND */
export async function getPolicy({ app, db, actor: { tenant } }: Work, id: string) {
  const { items } = await policySetOf(db, tenant);
  const item = items.find((one) => one.id === id);
  if (item === undefined) throw new Fault("POLICY_NOT_FOUND");
  const [document] = await app.policyBook.documentsOf(tenant, [item]);
  return { ...showPolicy(item), document: { ...document } };
}
