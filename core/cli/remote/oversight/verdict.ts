import { printableLine } from "../../printable_line.ts";
import type { Finding, Verdict } from "../../../events/events.ts";
import { keyText } from "../../../protocol/protocol.ts";

/** The result of a check, for people. */
export function describeVerdict(
  { finding, rows, statement, witness, keyFromFile, handovers }: Verdict,
): string {
  if (finding !== null) return `INVALID: ${describeFinding(finding)}`;
  const { size, expired, origin, time, selection } = statement!;
  const lines = [`valid: ${rows} rows of ${origin}, which had ${size} at ${time}`];
  if (selection !== null && selection.filter !== "{}") {
    lines.push(`selected by ${selection.filter}`);
  }
  if (expired > 0) lines.push(`rows 1 to ${expired} are no longer kept; their hashes are correct`);
  for (const { from, to, rows } of handovers) {
    lines.push(
      `rows up to ${rows} were signed by ${keyText(from)}, which handed over to ${keyText(to)}`,
    );
  }
  if (witness === "consistent") lines.push("it is consistent with the given checkpoint");
  if (witness === "not comparable") {
    lines.push(
      "NOT COMPARED: the rows around the given checkpoint are omitted. " +
        "Give --consistency with a proof to this export's size.",
    );
  }
  if (keyFromFile) {
    lines.push("checked with the file's own key: give --key to verify who signed it");
  }
  return lines.map(printableLine).join("\n");
}

/** One finding as a sentence. */
export function describeFinding({ kind, first, last, line, why }: Finding): string {
  const rows = last === null || last === first ? `row ${first}` : `rows ${first} to ${last}`;
  const at = ` (line ${line})`;
  switch (kind) {
    case "altered":
      return last === first ? `${rows} was altered${at}` : `one of ${rows} was altered${at}`;
    case "missing":
      return `missing: ${rows}${at}`;
    case "added":
      return `added: a row that claims to be ${first}${at}`;
    case "swapped":
      return `rows ${first} and ${last} changed places${at}`;
    case "truncated":
      return `cut off: row ${first} and the following rows, or the proof at the end, are missing`;
    case "rolled_back":
      return `rolled back: ${rows} were witnessed and are not in this export`;
    case "rewritten":
      return `rewritten: ${rows} differ from those that were witnessed`;
    case "forked":
      return `forked: ${rows} differ from the given checkpoint, and one key signed both`;
    case "proof":
      return `the proof at the end is invalid: ${why}`;
  }
}
