/** Commands as people and programs write them, over all packs; one a line. */
function read(name: string): string[] {
  const text = Deno.readTextFileSync(new URL(`field/${name}.txt`, import.meta.url));
  return text.split("\n").filter((line) => line !== "" && !line.startsWith("# "))
    .map((line) => line.replaceAll("␤", "\n"));
}

/** Commands that need a person, or have to be refused. */
export const DANGEROUS = read("dangerous");

/** Commands of daily work. */
export const HARMLESS = read("harmless");

/** Commands that harm nothing by themselves, but change a running system. */
export const PRODUCTION = read("production");
