const TESTS = new URL("./", import.meta.url);

/**
 * Imports the test files of folders of `tests/`. The files of one suite run in one isolate, which loads the program
 * once: in isolates of their own, loading took a quarter of the time of all tests.
 */
export async function loadTests(...folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    for (const file of await testFiles(new URL(`${folder}/`, TESTS))) await import(file);
  }
}

async function testFiles(folder: URL): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) found.push(...await testFiles(new URL(`${name}/`, folder)));
    else if (name.endsWith("_test.ts")) found.push(new URL(name, folder).href);
  }
  return found.sort();
}
