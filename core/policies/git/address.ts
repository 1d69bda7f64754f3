/** Host and path of a repository, however its address is written: without scheme, user and `.git`. */
export function addressOf(text: string): string | null {
  const scp = /^[\w.-]+@([\w.-]+):(?!\/\/)(.+)$/.exec(text);
  const written = scp === null ? text : `ssh://${scp[1]}/${scp[2]}`;
  if (!URL.canParse(written)) return null;
  const url = new URL(written);
  if (!["http:", "https:", "ssh:", "git:"].includes(url.protocol)) return null;
  const host = url.host.replace(/\.(?=:|$)/, "");
  const path = pathOf(url.pathname.replace(/%[0-9a-f]{2}/gi, plain));
  return path === "" ? null : `${host}/${path}`;
}

/** A repository's path without slashes at its ends and `.git`. */
export const pathOf = (text: string): string =>
  text.split("/").filter((part) => part !== "").join("/").replace(/(\.git)+$/i, "");

/** Decodes a percent code of an unreserved character and upper-cases any other (RFC 3986, section 6.2.2). */
function plain(code: string): string {
  const character = String.fromCharCode(parseInt(code.slice(1), 16));
  return /[\w.~-]/.test(character) ? character : code.toUpperCase();
}
