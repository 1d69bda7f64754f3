import { hash } from "node:crypto";
import { deepStrictEqual as deq, strictEqual as eq, throws } from "node:assert/strict";
import { type Configuration, TEMPORARY_SUFFIX } from "../../core/cli/agent/backup/configuration.ts";
import { recoverRestore, restoreArchive } from "../../core/cli/agent/backup/restore.ts";
import { systemTree } from "../../core/cli/agent/tree.ts";
import { type ArchiveEntry, packArchive } from "../../core/protocol/archive.ts";

/** A machine with one listed folder, and something beside it that is not listed. */
async function withMachine(
  test: (machine: {
    readonly configuration: Configuration;
    readonly listed: string;
    readonly outside: string;
  }) => void,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const [stateDir, listed, outside] = [`${folder}/state`, `${folder}/etc`, `${folder}/outside`];
    for (const path of [stateDir, listed]) Deno.mkdirSync(path);
    Deno.writeTextFileSync(outside, "not listed");
    const settings = { name: "a", labels: {} };
    test({
      configuration: { tree: systemTree, stateDir, roots: [listed], settings },
      listed,
      outside,
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** An archive of these files, as a relay may send it. */
function archiveOf(root: string, files: Readonly<Record<string, string | { link: string }>>) {
  const contents: Uint8Array[] = [];
  const entries = Object.entries(files).map(([path, said]): ArchiveEntry => {
    const content = new TextEncoder().encode(typeof said === "string" ? said : "");
    contents.push(content);
    const link = typeof said === "string" ? null : said.link;
    return {
      root,
      path,
      mode: 0o644,
      bytes: content.length,
      sha256: hash("sha256", content),
      link,
    };
  });
  const settings = { name: "a", labels: {} };
  const head = { format: "relay.configuration.v1", settings, roots: [root], entries } as const;
  return packArchive({ head: { ...head, roots: [root], entries }, contents });
}

Deno.test("restore: a link at the path of a temporary file is not followed", () =>
  withMachine(({ configuration, listed, outside }) => {
    Deno.symlinkSync(outside, `${listed}/a.conf${TEMPORARY_SUFFIX}`);
    restoreArchive(configuration, archiveOf(listed, { "a.conf": "restored" }));
    eq(Deno.readTextFileSync(outside), "not listed");
    eq(Deno.readTextFileSync(`${listed}/a.conf`), "restored");
  }));

Deno.test("restore: a link made between the check and the write is refused", () =>
  withMachine(({ configuration, listed, outside }) => {
    const racing: Configuration = {
      ...configuration,
      tree: {
        ...systemTree,
        write(path, bytes, mode) {
          if (path.startsWith(listed)) Deno.symlinkSync(outside, path);
          systemTree.write(path, bytes, mode);
        },
      },
    };
    throws(() => restoreArchive(racing, archiveOf(listed, { "a.conf": "restored" })));
    eq(Deno.readTextFileSync(outside), "not listed");
    deq([...Deno.readDirSync(listed)], []);
  }));

Deno.test("backup: a file that has become a link is not read", () =>
  withMachine(({ listed, outside }) => {
    Deno.symlinkSync(outside, `${listed}/a.conf`);
    throws(() => systemTree.read(`${listed}/a.conf`), /no longer a file/);
  }));

Deno.test("restore: an archive with something below one of its files is refused, and nothing changes", () => {
  const pairs: Record<string, string | { link: string }>[] = [
    { a: "a file", "a/b": "below it" },
    { "a/b": "below it", a: "a file" },
    { a: { link: "c" }, "a/b/d": "below it", c: "a file" },
    { "": "the folder itself", a: "below it" },
  ];
  return withMachine(({ configuration, listed }) => {
    Deno.removeSync(listed);
    for (const files of pairs) {
      throws(() => restoreArchive(configuration, archiveOf(listed, files)), /below/);
      eq(recoverRestore(configuration), "nothing");
      throws(() => Deno.lstatSync(listed), Deno.errors.NotFound);
    }
  });
});

Deno.test("recoverRestore: listed folders beyond the bounds do not stop the agent from starting", () =>
  withMachine(({ configuration, listed }) => {
    Deno.mkdirSync(`${listed}/${"a/".repeat(40)}`, { recursive: true });
    eq(recoverRestore(configuration), "nothing");
  }));
