import { deleteEntries, readJournals } from "../../../kv/store/journal.ts";
import { StoreUnavailableError } from "../../../kv/engine/errors.ts";
import { forEach } from "../at_once.ts";
import { findCommand } from "./finished.ts";
import { readJournalLine } from "./journal_line.ts";
import { JOURNAL } from "./running_commands.ts";
import { settleCommand, type SettlementContext } from "./settle.ts";

/** The parts that the recovery uses. */
interface Recovery extends SettlementContext {
  /** The id of this process. */
  readonly instance: string;
}

/** The journals to read: those of every process that is gone, or of one that died. */
type Of = { readonly dead?: string };

/**
 * At the start, records the commands that an earlier process left running as lost, until their agents report
 * otherwise. Returns their number.
 */
export async function recoverCommands(by: Recovery, { dead }: Of = {}): Promise<number> {
  let recovered = 0;
  const entries = readJournals(by.store, `${JOURNAL}${dead ?? ""}`);
  await forEach(entries, async ({ name, entry, texts }) => {
    if (name === `${JOURNAL}${by.instance}`) return;
    const orphans = await Promise.all(texts.map((text) => recoverCommand(by, text)));
    recovered += orphans.filter((orphan) => orphan === "recovered").length;
    // An unreadable line stays, and does not keep the relay from starting.
    if (!orphans.includes("unreadable")) await deleteEntries(by.store, name, [entry]);
  });
  return recovered;
}

async function recoverCommand(
  by: SettlementContext,
  text: string,
): Promise<"recovered" | "ended" | "unreadable"> {
  try {
    const { tenant, record } = readJournalLine(text, by);
    // It may have ended already: the line stays until all commands of its commit have ended.
    const known = await findCommand(by.store, by.store, tenant, record.id);
    if (known !== null && known.status !== "running") return "ended";
    const why = "the relay stopped while the command ran";
    const open = { id: record.id, agentId: record.agent_id, record, fresh: false };
    await settleCommand(by, tenant, open, { status: "lost", why });
    return "recovered";
  } catch (error) {
    if (error instanceof StoreUnavailableError) throw error;
    by.ports.log.error("an open command could not be recovered", { error: String(error) });
    return "unreadable";
  }
}
