import { canonicalJson } from "../codec/codec.ts";
import { Fault } from "../fault/fault.ts";

type Labels = Readonly<Record<string, string>>;

/** The most labels of an agent that belong to the relay. A pairing code has up to 16. */
const RELAY_LABELS_MAX = 32;

/** True for the same labels in any order. */
export const sameLabels = (a: Labels, b: Labels): boolean => canonicalJson(a) === canonicalJson(b);

/** An agent's labels by their owner, and those in force: the relay's override the agent's. */
export const labelsBy = (reported: Labels, owned: Labels) => ({
  labels: { ...reported, ...owned },
  reported_labels: { ...reported },
  relay_labels: { ...owned },
});

/** The relay's labels of an agent that was paired again. Beyond the limit, the code's labels stay. */
export function withCodeLabels(owned: Labels, ofCode: Labels): Labels {
  const others = Object.entries(owned).filter(([key]) => !Object.hasOwn(ofCode, key));
  const all = [...Object.entries(ofCode), ...others];
  return Object.fromEntries(all.slice(0, RELAY_LABELS_MAX));
}

/** The relay's labels after a change, in which null removes a label. @throws {Fault} VALIDATION_FAILED */
export function changedLabels(
  owned: Labels,
  change: Readonly<Record<string, string | null>>,
): Labels {
  const all = Object.entries({ ...owned, ...change });
  const next = all.filter((label): label is [string, string] => label[1] !== null);
  if (next.length <= RELAY_LABELS_MAX) return Object.fromEntries(next);
  const message = `would make ${next.length} labels; an agent may have ${RELAY_LABELS_MAX}: ` +
    "remove some with null";
  throw new Fault("VALIDATION_FAILED", `body.labels: ${message}`, {
    issues: [{ path: "body.labels", message }],
  });
}
