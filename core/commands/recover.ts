import { deleteEntries, readJournals } from "../../kv/store/journal.ts";
import { StoreUnavailableError } from "../../kv/store/errors.ts";
import type { App } from "../work/work.ts";
import { findCommand } from "./finished.ts";
import { readNote } from "./note.ts";
import { JOURNAL } from "./registry.ts";
import { settleCommand } from "./settle.ts";

/** At the start: what an earlier process had under way is lost, unless its agent tells more later. */
export async function recoverCommands(app: App): Promise<number> {
  let recovered = 0;
  for await (const { name, entry, texts } of readJournals(app.store, JOURNAL)) {
    if (name === `${JOURNAL}${app.instance}`) continue;
    const orphans = await Promise.all(texts.map((text) => recoverCommand(app, text)));
    recovered += orphans.filter((orphan) => orphan === "recovered").length;
    // What cannot be read stays for somebody who can; it must not keep the relay from starting.
    if (!orphans.includes("unreadable")) await deleteEntries(app.store, name, [entry]);
  }
  return recovered;
}

async function recoverCommand(
  app: App,
  text: string,
): Promise<"recovered" | "ended" | "unreadable"> {
  try {
    const { tenant, record } = readNote(text, app);
    // It may have ended while another that began in the same commit had not.
    const known = await findCommand(app.store, app.store, tenant, record.id);
    if (known !== null && known.status !== "running") return "ended";
    const why = "the relay stopped while it was under way";
    const open = { id: record.id, agentId: record.agent_id, record, fresh: false };
    await settleCommand(app, tenant, open, { status: "lost", why });
    return "recovered";
  } catch (error) {
    if (error instanceof StoreUnavailableError) throw error;
    app.ports.log.error("an open command could not be recovered", { error: String(error) });
    return "unreadable";
  }
}
