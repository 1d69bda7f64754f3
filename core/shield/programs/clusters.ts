/** Short options that take a value, of programs whose options are often bundled: `curl -sXDELETE`. */
const VALUED_LETTERS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "curl": "AbcCdDeEFhHKmoPQrtTuUwxXyYz",
    "wget wget2": "aABDeIilOoPQRTtUwX",
    "ssh slogin autossh": "BbcDEeFIiJLlmOopQRSWw",
    "scp": "cDFiJloPSX",
    "sftp": "BbcDFiJloPRSsX",
    "rsync": "eMfTB@",
    "psql": "cdfFhLopPRTUv",
    "mysql mariadb": "DehpPSu",
    "docker podman nerdctl": "acehHlmpuvw",
    "nc ncat netcat": "cegGiIoOpPqsTVwWxX",
  }).flatMap(([names, letters]) => names.split(" ").map((name) => [name, letters] as const)),
);

/** The part of a bundle of options from the first one that takes a value; null where none does. */
export function valuedPart(name: string, arg: string): string | null {
  const valued = arg.startsWith("--") ? undefined : VALUED_LETTERS.get(name);
  if (valued === undefined) return null;
  for (let at = 1; at < arg.length; at++) if (valued.includes(arg[at]!)) return arg.slice(at);
  return null;
}
