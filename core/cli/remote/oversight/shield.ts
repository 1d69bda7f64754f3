import type { Evaluation } from "../../../client/client.ts";
import type { Call, Run } from "../command.ts";
import { labelsFrom } from "../labels.ts";

/** The exit code of each verdict. */
const EXIT = { allow: 0, approve: 10, deny: 11 } as const;

/** `relay shield test` */
export const testCommand: Run = async (call) => {
  const { relay, out, args: [command = ""] } = call;
  const labels = await labelsOf(call);
  const answer = await relay().call("shield.evaluate", { body: { commands: [command], labels } });
  const result = (answer as Evaluation).results[0]!;
  await out.item(result, result.verdict, [
    ["verdict", result.verdict],
    ["risk", result.risk_score],
    ["rules", result.rule_ids.join(", ")],
    ["watched", result.watched?.join(", ")],
    ["threats", result.threats.join(", ")],
    ["layer", result.layer],
    ["why", result.explanation],
    ["safer", result.safer_alternative ?? undefined],
  ]);
  return EXIT[result.verdict];
};

/** The labels of the agent, overridden by those that were given; undefined for none. */
async function labelsOf({ relay, text, list }: Call): Promise<Record<string, string> | undefined> {
  const id = text("agent");
  const given = labelsFrom(list("label"));
  if (id === undefined) return Object.keys(given).length === 0 ? undefined : given;
  const { labels } = await relay().call("agents.get", { params: { id } });
  return { ...labels, ...given };
}
