const LIBRARIES = [
  "preact",
  "preact/hooks",
  "htm",
  "htm/preact",
  "@preact/signals",
  "@preact/signals-core",
  "uqr",
];

/** The text of console/files.ts: each file of the console and of the client as text, so that the program holds them. */
export async function consoleFiles(): Promise<string> {
  const files = [...await filesIn("console/app"), ...await filesIn("core/client")]
    .filter((path) => /\.(ts|css|svg)$/.test(path));
  const imports = files.map((path, n) =>
    `import file${n} from "${
      path.replace(/^console/, ".").replace(/^core/, "../core")
    }" with { type: "text" };`
  );
  const libraries = LIBRARIES.map((name, n) =>
    `import library${n} from "${name}" with { type: "text" };`
  );
  return `// Written by \`deno task docs\` from the files of console/app and core/client.
${[...imports, ...libraries].join("\n")}

/** The console's own files, by their path in the repository. */
export const FILES: Readonly<Record<string, string>> = {
${files.map((path, n) => `  "${path}": file${n},`).join("\n")}
};

/** The libraries that they import by name. */
export const LIBRARIES: Readonly<Record<string, string>> = {
${LIBRARIES.map((name, n) => `  "lib/${name}.js": library${n},`).join("\n")}
};
`;
}

async function filesIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) found.push(...await filesIn(path));
    else found.push(path);
  }
  return found.sort();
}
