import { Buffer } from "node:buffer";
import * as git from "isomorphic-git";
import { openMemoryFiles } from "../../core/policies/git/memory_files.ts";
import type { OutboundRequest } from "../../core/ports/ports.ts";
import type { Reply } from "../support/network.ts";

const DIR = "/repo";
const ZERO = "0".repeat(40);

/** A Git host in memory that holds one branch of one repository and answers over the recorded network. */
export interface FakeHost {
  readonly url: string;
  /** Commits exactly these files as the new head; answers the id of the commit. */
  commit(files: Readonly<Record<string, string>>): Promise<string>;
  /** Commits a tree that was built by hand. */
  commitTree(make: (write: TreeWriter) => Promise<string>): Promise<string>;
  /** Answers a request; set it as the network's reply. */
  reply(request: OutboundRequest): Reply;
  /** Makes requests fail from now on; null ends that. */
  broken: Reply | null;
  /** Requests received. */
  asked: number;
}

/** Writes objects; answers their ids. */
export interface TreeWriter {
  file(content: string | Uint8Array): Promise<string>;
  folder(entries: readonly (readonly [name: string, mode: string, oid: string])[]): Promise<string>;
}

export async function openFakeHost(
  url = "https://git.example.com/acme/policies.git",
): Promise<FakeHost> {
  const fs = openMemoryFiles(64 * 1024 * 1024);
  await fs.promises.mkdir(DIR);
  await git.init({ fs, dir: DIR });
  let head: string | null = null;
  let pack = Buffer.alloc(0);
  let seconds = 1_700_000_000;

  async function writeTree(files: ReadonlyMap<string, string>, oids: Set<string>): Promise<string> {
    const entries = new Map<string, Map<string, string> | string>();
    for (const [path, text] of files) {
      const [first = "", ...rest] = path.split("/");
      if (rest.length === 0) entries.set(first, text);
      else {
        const folder = entries.get(first);
        const inside = folder instanceof Map ? folder : new Map<string, string>();
        entries.set(first, inside.set(rest.join("/"), text));
      }
    }
    const tree: git.TreeObject = [];
    for (const [path, content] of entries) {
      const isFolder = content instanceof Map;
      const oid = isFolder
        ? await writeTree(content, oids)
        : await git.writeBlob({ fs, dir: DIR, blob: new TextEncoder().encode(content) });
      oids.add(oid);
      const type = isFolder ? "tree" as const : "blob" as const;
      tree.push({ mode: isFolder ? "040000" : "100644", path, oid, type });
    }
    return await git.writeTree({ fs, dir: DIR, tree });
  }

  const line = (text: string) => `${(text.length + 4).toString(16).padStart(4, "0")}${text}`;

  function refs(): Buffer {
    const capabilities = "shallow side-band-64k ofs-delta agent=fake";
    const refs = head === null
      ? line(`${ZERO} capabilities^{}\0${capabilities}\n`)
      : line(`${head} HEAD\0${capabilities} symref=HEAD:refs/heads/main\n`) +
        line(`${head} refs/heads/main\n`);
    return Buffer.from(`${line("# service=git-upload-pack\n")}0000${refs}0000`);
  }

  function fetched(): Buffer {
    const bands: Buffer[] = [];
    for (let at = 0; at < pack.length; at += 60_000) {
      const piece = pack.subarray(at, at + 60_000);
      const size = (piece.length + 5).toString(16).padStart(4, "0");
      bands.push(Buffer.from(size), Buffer.from([1]), piece);
    }
    const start = `${line(`shallow ${head}`)}0000${line("NAK\n")}`;
    return Buffer.concat([Buffer.from(start), ...bands, Buffer.from("0000")]);
  }

  const answer = (bytes: Buffer, type: string): Reply => ({
    status: 200,
    headers: { "content-type": `application/x-git-upload-pack-${type}` },
    bytes: new Uint8Array(bytes),
  });

  async function publish(tree: string, oids: ReadonlySet<string>): Promise<string> {
    const person = { name: "A", email: "a@example.com", timestamp: seconds++, timezoneOffset: 0 };
    const commit = { message: "a change\n", tree, author: person, committer: person };
    head = await git.writeCommit({
      fs,
      dir: DIR,
      commit: { ...commit, parent: head === null ? [] : [head] },
    });
    const packed = await git.packObjects({ fs, dir: DIR, oids: [head, tree, ...oids] });
    pack = Buffer.from(packed.packfile!);
    return head;
  }

  const host: FakeHost = {
    url,
    broken: null,
    asked: 0,
    async commit(files) {
      const oids = new Set<string>();
      const tree = await writeTree(new Map(Object.entries(files)), oids);
      return await publish(tree, oids);
    },
    async commitTree(make) {
      const oids = new Set<string>();
      const keep = (oid: string) => {
        oids.add(oid);
        return oid;
      };
      const tree = await make({
        async file(content) {
          const blob = typeof content === "string" ? new TextEncoder().encode(content) : content;
          return keep(await git.writeBlob({ fs, dir: DIR, blob }));
        },
        async folder(entries) {
          const rows = entries.map(([name, mode, oid]) =>
            Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(oid, "hex")])
          );
          const object = new Uint8Array(Buffer.concat(rows));
          const oid = await git.writeObject({
            fs,
            dir: DIR,
            type: "tree",
            object,
            format: "content",
          });
          return keep(oid);
        },
      });
      return await publish(tree, oids);
    },
    reply(request) {
      host.asked++;
      if (host.broken !== null) return host.broken;
      if (request.url === `${url}/info/refs?service=git-upload-pack`) {
        return answer(refs(), "advertisement");
      }
      return request.url === `${url}/git-upload-pack` ? answer(fetched(), "result") : 404;
    },
  };
  return host;
}
