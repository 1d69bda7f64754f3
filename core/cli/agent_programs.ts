import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { ANY_PLATFORM, VERSION } from "../protocol/protocol.ts";
import type { AgentProgram, AgentPrograms } from "../ports/ports.ts";
import { ownBundle } from "./process.ts";

const PLATFORM = `${Deno.build.os}-${Deno.build.arch}`;
const PLATFORM_NAME = /^[0-9a-z_-]{1,64}$/;

/**
 * The programs in a folder, and the relay's own: its executable, or its bundle. Files are named by version and
 * platform, such as `relay-0.1.0-linux-x86_64`, and `relay-0.1.0.js` for a bundle.
 */
export function agentPrograms(folder: string | null): AgentPrograms {
  /** The digest of each file, with the size and the time of the change that it is of. */
  const digests = new Map<string, { readonly state: string; readonly sha256: string }>();

  async function open(path: string): Promise<AgentProgram | null> {
    const found = await Deno.stat(path).catch(() => null);
    if (!found?.isFile || found.size === 0) return null;
    const state = `${found.size} ${found.mtime?.getTime()}`;
    const known = digests.get(path);
    const sha256 = known?.state === state ? known.sha256 : await digestOf(path);
    digests.set(path, { state, sha256 });
    return {
      sha256,
      bytes: found.size,
      async read(offset, length) {
        using file = await Deno.open(path);
        await file.seek(offset, Deno.SeekMode.Start);
        const bytes = new Uint8Array(length);
        for (let at = 0; at < length;) {
          const n = await file.read(bytes.subarray(at));
          if (n === null) throw new Error(`${path} has become shorter`);
          at += n;
        }
        return bytes;
      },
    };
  }

  return {
    async find(version, platform) {
      // An agent reports its platform itself, and must not choose a file.
      if (!PLATFORM_NAME.test(platform)) return null;
      const name = platform === ANY_PLATFORM ? `${version}.js` : `${version}-${platform}`;
      const file = platform.startsWith("windows-") ? `${name}.exe` : name;
      for (const path of [folder && `${folder}/relay-${file}`, ownPath(version, platform)]) {
        const program = path === null || path === "" ? null : await open(path);
        if (program !== null) return program;
      }
      return null;
    },
  };
}

/** The file of this program, if it is of that version and for that platform. */
function ownPath(version: string, platform: string): string | null {
  if (version !== VERSION) return null;
  if (Deno.build.standalone) return platform === PLATFORM ? Deno.execPath() : null;
  const bundle = platform === ANY_PLATFORM ? ownBundle() : null;
  return bundle?.startsWith("file:") ? fileURLToPath(bundle) : null;
}

async function digestOf(path: string): Promise<string> {
  using file = await Deno.open(path);
  const hash = createHash("sha256");
  for await (const bytes of file.readable) hash.update(bytes);
  return hash.digest("hex");
}
