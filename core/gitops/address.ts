/** Host and path of a repository, however its address is written: without scheme, user and `.git`. */
export function addressOf(text: string): string | null {
  const scp = /^[\w.-]+@([\w.-]+):(?!\/\/)(.+)$/.exec(text);
  const written = scp === null ? text : `ssh://${scp[1]}/${scp[2]}`;
  if (!URL.canParse(written)) return null;
  const url = new URL(written);
  if (!["http:", "https:", "ssh:", "git:"].includes(url.protocol)) return null;
  const path = url.pathname.split("/").filter((part) => part !== "").join("/").replace(
    /\.git$/i,
    "",
  );
  return path === "" ? null : `${url.host}/${path}`;
}
