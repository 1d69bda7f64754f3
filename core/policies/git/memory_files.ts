import { Buffer } from "node:buffer";
import type { PromiseFsClient } from "isomorphic-git";

const FILE_MODE = 0o100644;
const FOLDER_MODE = 0o40755;

/**
 * Opens an empty file system in memory of at most `bytesMax`, for the clone of one fetch. It has no symbolic
 * links.
 */
export function openMemoryFiles(bytesMax: number): PromiseFsClient {
  const files = new Map<string, Uint8Array>();
  const folders = new Set<string>(["/"]);
  let size = 0;

  function find(path: string): Uint8Array | "folder" {
    const found = files.get(path) ?? (folders.has(path) ? "folder" : null);
    if (found === null) throw failure("ENOENT", path);
    return found;
  }

  async function stat(path: string) {
    const found = find(normal(path));
    const isFolder = found === "folder";
    return {
      type: isFolder ? "dir" : "file",
      mode: isFolder ? FOLDER_MODE : FILE_MODE,
      size: isFolder ? 0 : found.length,
      ino: 0,
      mtimeMs: 0,
      ctimeMs: 0,
      uid: 0,
      gid: 0,
      dev: 0,
      isFile: () => !isFolder,
      isDirectory: () => isFolder,
      isSymbolicLink: () => false,
    };
  }

  async function readFile(path: string, options?: string | { encoding?: string }) {
    const found = find(normal(path));
    if (found === "folder") throw failure("EISDIR", path);
    const encoding = typeof options === "string" ? options : options?.encoding;
    return encoding === "utf8" ? Buffer.from(found).toString("utf8") : found;
  }

  async function writeFile(path: string, data: string | Uint8Array) {
    const name = normal(path);
    if (!folders.has(parentOf(name))) throw failure("ENOENT", path);
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    const grown = size + bytes.length - (files.get(name)?.length ?? 0);
    if (grown > bytesMax) throw failure("ENOSPC", path);
    size = grown;
    files.set(name, bytes);
  }

  async function unlink(path: string) {
    const name = normal(path);
    const found = find(name);
    if (found === "folder") throw failure("EISDIR", path);
    files.delete(name);
    size -= found.length;
  }

  async function readdir(path: string) {
    const name = normal(path);
    if (find(name) !== "folder") throw failure("ENOTDIR", path);
    const below = name === "/" ? "/" : `${name}/`;
    const inside = [...files.keys(), ...folders].filter((each) => each.startsWith(below));
    return [...new Set(inside.map((each) => each.slice(below.length).split("/")[0]!))]
      .filter((each) => each !== "");
  }

  async function mkdir(path: string) {
    const name = normal(path);
    if (files.has(name) || folders.has(name)) throw failure("EEXIST", path);
    if (!folders.has(parentOf(name))) throw failure("ENOENT", path);
    folders.add(name);
  }

  async function rmdir(path: string) {
    if ((await readdir(path)).length > 0) throw failure("ENOTEMPTY", path);
    folders.delete(normal(path));
  }

  async function noLinks(path: string): Promise<never> {
    throw failure("ENOENT", path);
  }

  return {
    promises: {
      readFile,
      writeFile,
      unlink,
      readdir,
      mkdir,
      rmdir,
      stat,
      lstat: stat,
      readlink: noLinks,
      symlink: noLinks,
    },
  };
}

/** The path without empty and `.` parts. */
const normal = (path: string): string =>
  `/${path.split("/").filter((part) => part !== "" && part !== ".").join("/")}`;

const parentOf = (name: string): string => name.slice(0, name.lastIndexOf("/")) || "/";

/** An error with a code as Node's file system has it, because Git libraries read the code. */
const failure = (code: string, path: string) =>
  Object.assign(new Error(`${code}: ${path}`), { code });
