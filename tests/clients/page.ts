const PAGE = new URL("../../docs/clients.md", import.meta.url);
/** What its users call it, how it tells its version, and where its program goes. */
const LANGUAGES = {
  ts: { name: "Node", version: ["node", "--version"], file: "main.ts" },
  py: { name: "Python", version: ["python3", "--version"], file: "main.py" },
  go: { name: "Go", version: ["go", "version"], file: "main.go" },
} as const;

/** A generator, as the page on clients describes it to users. */
export interface Generator {
  readonly name: string;
  readonly language: (typeof LANGUAGES)[keyof typeof LANGUAGES];
  /** The oldest version of the language that will do: major and minor. */
  readonly oldest: readonly [number, number];
  /** Commands that install the generator and write the client. */
  readonly generate: string;
  /** A program that uses the client. */
  readonly program: string;
  /** Commands that compile and run the program. */
  readonly run: string;
}

/** Every section of the page that has commands of its own. @throws {Error} when one is incomplete */
export async function generators(): Promise<readonly Generator[]> {
  const [, ...sections] = (await Deno.readTextFile(PAGE)).split(/^## /m);
  return sections.map(generatorOf);
}

function generatorOf(section: string): Generator {
  const name = section.slice(0, section.indexOf("\n"));
  const blocks = [...section.matchAll(/^```(\w+)\n(.*?)^```$/gms)];
  const [generate, program, run] = blocks.map(([, , text]) => text!);
  const language = LANGUAGES[blocks[1]?.[1] as keyof typeof LANGUAGES];
  const needs = /^Needs (\w+) (\d+)\.(\d+) or later/m.exec(section);
  if (run === undefined || blocks.length > 3 || needs?.[1] !== language?.name) {
    throw new Error(
      `docs/clients.md, ${name}: say "Needs <language> <version> or later", then give a block of ` +
        "commands that generate, a program, and a block of commands that compile and run it",
    );
  }
  const oldest = [Number(needs![2]), Number(needs![3])] as const;
  return { name, language, oldest, generate: generate!, program: program!, run };
}
