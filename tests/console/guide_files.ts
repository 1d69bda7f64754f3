/** The chapter of docs/README.md for those who change Relay; its pages stay in the repository. */
const LEFT_OUT = "## Inside Relay";

/** The text of console/guides/files.ts: the pages that docs/README.md lists for users, and all pictures. */
export async function guideFiles(): Promise<string> {
  const list = await Deno.readTextFile("docs/README.md");
  const names = [...list.split(LEFT_OUT)[0]!.matchAll(/^- \[[^\]]+\]\(([\w-]+)\.md\)/gm)]
    .map(([, name]) => name!);
  const pictures = (await Array.fromAsync(Deno.readDir("docs/pictures"))).map(({ name }) => name)
    .sort();
  const text = (path: string, name: string) =>
    `import ${name} from "${path}" with { type: "text" };`;
  return `// Written by \`deno task docs\` from docs/README.md and docs/pictures.
${text("../../docs/README.md", "list")}
${text("../app/icon.svg", "icon")}
${text("../app/style.css", "consoleStyle")}
${text("./guides.css", "guidesStyle")}
${names.map((name, n) => text(`../../docs/${name}.md`, `page${n}`)).join("\n")}
${
    pictures.map((name, n) =>
      `import picture${n} from "../../docs/pictures/${name}" with { type: "bytes" };`
    ).join("\n")
  }

/** The page that lists the guides by chapters. */
export const CHAPTERS: string = list;

/** The guides, by their name in addresses. */
export const PAGES: Readonly<Record<string, string>> = {
${names.map((name, n) => `  "${name}": page${n},`).join("\n")}
};

/** The pictures, by the name of their file. */
export const PICTURES: Readonly<Record<string, Uint8Array<ArrayBuffer>>> = {
${pictures.map((name, n) => `  "${name}": picture${n},`).join("\n")}
};

export const ICON: string = icon;
export const STYLES: readonly string[] = [consoleStyle, guidesStyle];
`;
}
