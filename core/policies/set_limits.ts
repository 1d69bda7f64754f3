import { serialize } from "node:v8";
import type { PolicySetRecord } from "../../kv/records/gitops.ts";
import { Fault } from "../fault/fault.ts";
import { MAX_POLICIES } from "../protocol/protocol.ts";

/** All documents in force together must fit into one frame to an agent and into one commit. */
const DOCUMENTS_BYTES_MAX = 192 * 1024;
/** The record of the set must fit into one value of the store. */
const SET_BYTES_MAX = 48 * 1024;

/** @throws {Fault} VALIDATION_FAILED for a set that is too large, or has two policies of one name */
export function mustFit(set: PolicySetRecord): void {
  const refuse = (message: string): never => {
    const issues = [{ path: "body.policy_path", message }];
    throw new Fault("VALIDATION_FAILED", message, { issues });
  };
  const { items } = set;
  if (items.length > MAX_POLICIES) {
    refuse(
      `This would make ${items.length} policies, but at most ${MAX_POLICIES} may be in force ` +
        "at once.",
    );
  }
  const bytes = items.reduce((sum, item) => sum + item.bytes, 0);
  if (bytes > DOCUMENTS_BYTES_MAX) {
    refuse(
      `This would make ${bytes} bytes of policies, but at most ${DOCUMENTS_BYTES_MAX} are ` +
        "allowed.",
    );
  }
  if (serialize(set).length > SET_BYTES_MAX) {
    refuse("The names, paths and labels of all policies together are too long. Shorten some.");
  }
  const paths = new Map<string, string>();
  for (const { name, path } of items) {
    const other = paths.get(name);
    if (other !== undefined) {
      refuse(`${other} and ${path} have the same name, ${name}. Give each its own name.`);
    }
    paths.set(name, path);
  }
}
