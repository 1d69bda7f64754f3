import { createClient } from "../../client/client.ts";
import type { Host } from "./host.ts";
import { findTarget } from "./target.ts";

/** A person waits for the completion of a word. */
const ANSWER_MS = 1_000;
const NAMES_MAX = 200;
/** The form of a name. Bash runs what it completes as code, so another text from a relay is left out. */
const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;

/** Names of agents at the relay that commands use; none without an answer in time. */
export async function agentNames(host: Host): Promise<string[]> {
  try {
    const { url, token } = findTarget({ url: undefined, profile: undefined }, host);
    const signal = AbortSignal.timeout(ANSWER_MS);
    // A refresh of the session is not interrupted, since its new token would be lost: see first whether the relay is
    // there.
    await createClient({ url, fetch: host.fetch }).call("health.live", { signal });
    const { agents } = await createClient({ url, token, fetch: host.fetch })
      .call("agents.list", { query: { limit: NAMES_MAX }, signal });
    return agents.map(({ name }) => name).filter((name) => NAME.test(name));
  } catch {
    return [];
  }
}
