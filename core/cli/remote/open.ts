import type { Call, Run } from "./command.ts";
import { loginUrl, NotSignedInError } from "./target.ts";

/** `relay open` */
export const openConsole: Run = async (call) => {
  const { host, out } = call;
  const url = consoleOf(urlOf(call));
  await out.item({ url }, url, [["console", url]]);
  if (!host.interactive) return;
  const isOpen = host.browse(url);
  await out.note(isOpen ? "It opens in your browser." : "Open it in a browser.");
};

/** The address of a relay's console. */
export const consoleOf = (url: string): string => `${url}/console`;

/** The relay that commands use; without a sign-in, the one that a sign-in would go to. */
function urlOf({ target, text, host }: Call): string {
  try {
    return target().url;
  } catch (error) {
    if (!(error instanceof NotSignedInError) || text("profile") !== undefined) throw error;
    return loginUrl(text("url"), host);
  }
}
