/**
 * Checks an archive of evidence by docs/compliance.md alone, without a network and without Relay:
 *
 *     deno run --allow-read verify.ts ARCHIVE KEY
 *
 * It needs verify_log.ts beside it. KEY is the log's public key, from somewhere else than the archive. It names the first file that differs, and the row
 * of the log. `docs/verify.py` does the same in Python.
 */
import { Buffer } from "node:buffer";
import {
  Export,
  Fault,
  isGrowth,
  isNoteOf,
  isSigned,
  type Key,
  Keys,
  keyText,
  must,
  readKey,
  type ReceiptRow,
  sha256,
} from "./verify_log.ts";

export { Fault } from "./verify_log.ts";

const BLOCK = 512;
const MANIFEST = "manifest.txt";

/** What a whole archive holds. */
export interface Facts {
  readonly evidence: string;
  readonly log: string;
  readonly period: string;
  readonly made: string;
  readonly rows: number;
  readonly log_rows: number;
  readonly reports: number;
  readonly checkpoints: number;
  readonly witnesses: number;
  /** Receipts whose signature is by the agent's key. */
  readonly receipts: number;
  /** Receipts of removed agents, or of which results are outside the period or were cut by the relay. */
  readonly receipts_unproven: number;
}

/** The header that a file of this name, size and time has: every other byte follows from them. */
function headerOf(name: string, size: number, time: number): Buffer {
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;
  const header = Buffer.alloc(BLOCK);
  header.write(name, 0);
  header.write("0000644\x000000000\x000000000\0" + octal(size, 11) + octal(time, 11), 100);
  header.write("        0", 148);
  header.write("ustar\x0000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}

interface Entry {
  readonly name: string;
  readonly bytes: Buffer;
  readonly time: number;
}

/** The files of an archive in order. Every byte between them is checked. */
function* filesOf(path: string): Generator<Entry> {
  using file = Deno.openSync(path);
  const total = file.statSync().size;
  let at = 0, before = "the start";
  const place = () => `the header after ${before}`;
  const take = (size: number, where: string) => {
    must(at + size <= total, where, "the archive is cut off here");
    const bytes = Buffer.alloc(size);
    for (let got = 0; got < size;) got += file.readSync(bytes.subarray(got)) ?? size;
    at += size;
    return bytes;
  };
  for (;;) {
    const header = take(BLOCK, place());
    if (header.every((byte) => byte === 0)) break;
    const [name = ""] = header.toString("latin1", 0, 100).split("\0");
    const [size, time] = [124, 136].map((from) =>
      parseInt(header.toString("latin1", from, from + 11), 8)
    );
    const known = /^[\w./-]{1,99}$/.test(name) && size! >= 0 && time! >= 0;
    must(at > BLOCK || known, place(), "it was altered, or this is no archive of evidence");
    must(known && headerOf(name, size!, time!).equals(header), place(), "it was altered");
    const bytes = take(size!, name);
    const rest = take((BLOCK - size! % BLOCK) % BLOCK, name);
    must(rest.every((byte) => byte === 0), name, "the bytes after it were altered");
    yield { name, bytes, time: time! };
    before = name;
  }
  must(take(BLOCK, "the end").every((byte) => byte === 0), "the end", "it was altered");
  must(at === total, "the end", "bytes were added");
}

/** RFC 8785, for the values that reports hold. */
function canonical(value: unknown): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const members = Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1);
  return `{${members.map(([name, of]) => `${JSON.stringify(name)}:${canonical(of)}`).join(",")}}`;
}

/** Checks the files of an archive as they come. */
class Check {
  readonly #export = new Export();
  readonly #agents = new Map<string, Key>();
  #keys: Keys | null = null;
  #state = { note: "", size: 0, root: Buffer.alloc(0) as Buffer };
  #rest: Buffer = Buffer.alloc(0);
  #exported = "audit";
  reports = 0;
  checkpoints = 0;
  witnesses = 0;
  receipts = 0;
  unproven = 0;

  file({ name, bytes }: Entry): void {
    const [folder] = name.split("/");
    if (name === "keys.json") this.#takeKeys(bytes.toString());
    else if (name === "checkpoint.txt") this.#takeState(bytes.toString());
    else if (name.endsWith("s.ndjson") && folder === name) this.#takeGrowth(name, bytes.toString());
    else if (folder === "reports" && name.endsWith(".json")) {
      this.#takeReport(name, bytes.toString());
    } else if (folder === "audit") this.#takeRows(name, bytes);
    else if (folder === "receipts") this.#takeReceipts(name, bytes.toString());
  }

  get keys(): Keys {
    must(this.#keys !== null, "keys.json", "it is missing, or cannot be read");
    return this.#keys;
  }

  #takeKeys(text: string): void {
    const { log, agents } = JSON.parse(text);
    const key = readKey(log.public_key);
    must(key !== null, "keys.json", "the log's key cannot be read");
    for (const { id, public_key } of agents) {
      this.#agents.set(id, { name: id, raw: Buffer.from(public_key, "base64url") });
    }
    this.#keys = new Keys(key, log.handovers);
  }

  #takeState(note: string): void {
    this.#state = { note, ...this.keys.read(note, "checkpoint.txt") };
  }

  /** Earlier states of the log, and those that agents signed, each with a proof that the log only grew. */
  #takeGrowth(name: string, text: string): void {
    for (const line of text.split("\n").slice(0, -1)) {
      const { agent_id, note, path } = JSON.parse(line);
      const agent = agent_id === undefined ? undefined : this.#agents.get(agent_id);
      must(agent_id === undefined || agent !== undefined, name, `${agent_id} has no key`);
      const { size, root } = this.keys.read(note, name, agent);
      const hashes = path.map((hash: string) => Buffer.from(hash, "base64"));
      const grown = isGrowth(size, this.#state.size, root, this.#state.root, hashes);
      must(grown, name, `the log does not continue its state of ${size} rows`);
      if (agent === undefined) this.checkpoints++;
      else this.witnesses++;
    }
  }

  #takeReport(name: string, text: string): void {
    const { id, type, report, note } = JSON.parse(text);
    const digest = sha256(canonical(report)).toString("hex");
    const [, , subject] = note.split("\n");
    const about = subject === `report ${id} ${type}` && note.includes(`\nsha256 ${digest}\n\n`);
    must(about && isNoteOf(note, this.keys.now), name, "its signature is not of this report");
    must(report.log.checkpoint === this.#state.note, name, "it counted another state of the log");
    this.reports++;
  }

  #takeRows(name: string, bytes: Buffer): void {
    const all = Buffer.concat([this.#rest, bytes]);
    let from = 0;
    for (let end = all.indexOf(10); end >= 0; end = all.indexOf(10, from)) {
      this.#export.line(all.subarray(from, end), name);
      from = end + 1;
    }
    this.#rest = all.subarray(from);
    this.#exported = name;
  }

  /** What agents signed about the results of commands: the lines must be those of the rows. */
  #takeReceipts(name: string, text: string): void {
    for (const line of text.split("\n").slice(0, -1)) {
      const { agent_id, signature, rows, text } = JSON.parse(line);
      const found: ReceiptRow[] = rows.map((row: number) => this.#export.receipts.get(row));
      rows.forEach((row: number) => this.#export.receipts.delete(row));
      const own = found.every((row) => row?.agentId === agent_id && row?.signature === signature);
      const lines = own ? found.map((row) => row.line).sort().join("") : "";
      const same = own && text === `relay.receipt.v1\n${agent_id}\n${lines}`;
      must(same, name, `the receipt of row ${rows[0]} is not what the rows say`);
      const key = this.#agents.get(agent_id);
      const proven = key !== undefined && isSigned(key, text, Buffer.from(signature, "base64url"));
      if (proven) this.receipts++;
      else this.unproven++;
    }
  }

  /** Compares the whole with what the manifest states, after the last file. */
  end(period: string): Pick<Facts, "rows" | "log_rows"> {
    const file = this.#exported, { size, root } = this.#state;
    must(this.#rest.length === 0, file, "it is cut off");
    const { proof } = this.#export;
    must(proof !== null, file, "the proof at its end is missing");
    const read = this.keys.read(proof.checkpoint as string, file);
    const same = read.size === size && read.root.equals(root) &&
      proof.public_key === keyText(this.keys.now);
    must(same, file, "its proof is of another state of the log");
    const [start_time, end_time] = period.split(" ");
    const filter = `filter ${canonical({ start_time, end_time })}`;
    must(read.rest[0] === filter, file, "it is of another period");
    this.#export.end(size, root, 0, read.rest, file);
    must(this.#export.receipts.size === 0, "receipts", "the receipt of a row is missing");
    return { rows: this.#export.rows, log_rows: size };
  }
}

/** Compares the files with the manifest. @throws {Fault} */
function checkManifest(entries: readonly string[], note: string, keys: Keys, time: number) {
  const lines = note.slice(0, Math.max(0, note.indexOf("\n\n"))).split("\n");
  const [format, log = "", id = "", period = "", made = "", , state = ""] = lines;
  must(
    isNoteOf(note, keys.now) && format === "relay-evidence/1",
    MANIFEST,
    "its signature is not by the log's key",
  );
  must(log === keys.now.name, MANIFEST, "it is of another log");
  const listed = lines.slice(7);
  const other = listed.findIndex((line, at) => line !== entries[at]);
  const nameIn = (line = "") => line.split(" ")[3] ?? "the end";
  must(other < 0, nameIn(listed[other]), "it is not as the manifest says");
  must(
    entries.length === listed.length,
    nameIn(entries[listed.length]),
    "the manifest does not list it",
  );
  const madeAt = made.slice("made ".length);
  must(Math.floor(Date.parse(madeAt) / 1000) === time, MANIFEST, "the files have another time");
  return {
    evidence: id.slice("evidence ".length),
    log,
    period: period.slice("period ".length),
    made: madeAt,
    state: state.slice("checkpoint ".length),
  };
}

/**
 * Checks an archive. Without a key it is only compared with itself: whoever made it may have made the key.
 * @throws {Fault} with the first fault
 */
export function verifyEvidence(path: string, givenKey: string | null): Facts {
  const check = new Check();
  const entries: string[] = [];
  let content: Fault | null = null, manifest: string | null = null, time: number | null = null;
  for (const entry of filesOf(path)) {
    const { name, bytes } = entry;
    must(manifest === null, name, "it follows the manifest");
    must(entry.time === (time ??= entry.time), name, "its time is another one");
    if (name === MANIFEST) {
      manifest = bytes.toString();
      continue;
    }
    entries.push(`file ${sha256(bytes).toString("hex")} ${bytes.length} ${name}`);
    if (content !== null) continue;
    try {
      check.file(entry);
    } catch (error) {
      content = error instanceof Fault ? error : new Fault(name, "it cannot be read");
    }
  }
  must(manifest !== null && time !== null, MANIFEST, "it is missing: the archive is not whole");
  const trusted = givenKey === null ? check.keys.now : readKey(givenKey);
  must(trusted !== null, "the given key", "it is not a key of the form name+id+base64");
  // The content's own fault names the row; the manifest names the file that was changed after it was signed.
  const signer = isNoteOf(manifest, trusted) ? new Keys(trusted, []) : check.keys;
  must(
    signer.now === trusted || check.keys.has(keyText(trusted)),
    MANIFEST,
    "its signature is not by the given key",
  );
  let stated;
  try {
    stated = checkManifest(entries, manifest, signer, time);
  } catch (error) {
    const named = content !== null && error instanceof Fault && error.file === content.file;
    throw named ? new Fault(content!.file, `${content!.why} (${(error as Fault).why})`) : error;
  }
  if (content !== null) throw content;
  const { state, ...about } = stated;
  const counted = check.end(about.period);
  must(state.startsWith(`${counted.log_rows} `), MANIFEST, "it is of another state of the log");
  const { reports, checkpoints, witnesses, receipts, unproven } = check;
  return {
    ...about,
    ...counted,
    reports,
    checkpoints,
    witnesses,
    receipts,
    receipts_unproven: unproven,
  };
}

/** The facts of a valid archive, in words. */
export const describeEvidence = (facts: Facts): string =>
  `valid: ${facts.evidence} of ${facts.log}, made ${facts.made}
period: ${facts.period.replace(" ", " to ")}
rows: ${facts.rows} of ${facts.log_rows} in the log; reports: ${facts.reports}
checkpoints: ${facts.checkpoints}; signed by agents as witnesses: ${facts.witnesses}
receipts proven by agents' keys: ${facts.receipts}; not proven: ${facts.receipts_unproven}`;

// Bundled with Relay, this file is part of a program of another name.
if (import.meta.main && import.meta.url.endsWith("/verify.ts")) {
  const [path, key] = Deno.args;
  if (path === undefined || key === undefined) {
    console.error("Usage: deno run --allow-read verify.ts ARCHIVE KEY");
    Deno.exit(2);
  }
  try {
    console.log(describeEvidence(verifyEvidence(path, key)));
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    console.error(`INVALID: ${error.message}`);
    Deno.exit(1);
  }
}
