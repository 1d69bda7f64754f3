import { signal } from "@preact/signals";
import { type AccountInfo, call, RelayError, type Scope } from "./api.ts";
import type { Screen } from "./screen.ts";

/** Who is signed in: null for nobody, undefined until the relay has said. */
export const me = signal<AccountInfo | null | undefined>(undefined);
/** True after a session ended under a page that was in use; the page stays, and asks for the password again. */
export const expired = signal(false);

/** Counts readings and sign-outs. Only the last one counts, whichever is answered last. */
let turn = 0;

/** Reads who is signed in. @throws {RelayError} when the relay cannot be reached */
export async function readSession(): Promise<void> {
  const mine = ++turn;
  const info = await readAccount();
  if (mine !== turn) return;
  if (info !== null) {
    me.value = info;
    expired.value = false;
  } else if (me.value) expired.value = true;
  else me.value = null;
}

/** The account of the session; null without one. Asks first whether there is one, because browsers report each 401. */
async function readAccount(): Promise<AccountInfo | null> {
  const { signed_in } = await call("console_session.options");
  if (!signed_in) return null;
  try {
    return await call("account.info");
  } catch (error) {
    if (isSignedOut(error)) return null;
    throw error;
  }
}

/** True when a call failed because there is no session, or it has ended. */
export const isSignedOut = (error: unknown): boolean =>
  error instanceof RelayError && error.status === 401;

/** True when the viewer holds the right: what they may not do has no button. */
export const may = (right: Scope): boolean => me.value?.scopes.includes(right) ?? false;

/** True when the viewer may open a screen. */
export const mayOpen = ({ needs, hostOnly }: Pick<Screen, "needs" | "hostOnly">): boolean =>
  (needs === undefined || needs.some(may)) && (!hostOnly || me.value?.organization.host === true);

/** Ends this session, or all sessions of the viewer. */
export async function signOut(everywhere = false): Promise<void> {
  try {
    await call("console_session.end", { query: everywhere ? { everywhere: "true" } : {} });
  } catch (error) {
    if (!isSignedOut(error)) throw error; // a session that is over already is what was wanted
  }
  turn++;
  me.value = null;
  expired.value = false;
}
