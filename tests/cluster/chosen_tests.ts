// Loads the test files that RELAY_CLUSTER_FILES names into one isolate, which loads the program once.
const files: readonly string[] = JSON.parse(Deno.env.get("RELAY_CLUSTER_FILES")!);
for (const file of files) await import(new URL(`../../${file}`, import.meta.url).href);
