/** How the program is started on a machine. */
export type Installed = "relay" | "clone";

/** The Deno version that the README names for a clone. */
export const DENO_VERSION = "2.9.6";

const PROGRAMS: Readonly<Record<Installed, string>> = {
  relay: "relay",
  clone: `npx -y deno@${DENO_VERSION} run -A main.ts`,
};

/** The line to paste on a machine: it pairs the machine, then runs its agent. */
export function pairingLine(
  installed: Installed,
  { url, name, code }: { readonly url: string; readonly name: string; readonly code: string },
): string {
  const program = PROGRAMS[installed];
  const named = name === "" ? "" : ` --name ${quoted(name)}`;
  return `${program} agent pair --url ${quoted(url)}${named} --code ${
    quoted(code)
  } && ${program} agent`;
}

/** A word of a line for a POSIX shell. */
const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

/** Host names that mean the relay's own machine, whichever machine uses them. */
export const isLoopback = (host: string): boolean =>
  /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(host);
