/**
 * Checks an archive of evidence by docs/compliance.md alone, without a network and without Relay:
 *
 *     deno run --allow-read verify.ts ARCHIVE KEY
 *
 * KEY is the log's public key, from somewhere else than the archive. It names the first file that differs, and the row
 * of the log. `docs/verify.py` does the same in Python.
 */
import { Buffer } from "node:buffer";
import { createHash, createPublicKey, type Hash, verify } from "node:crypto";

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

/** The first fault of an archive. */
export class Fault extends Error {
  constructor(readonly file: string, readonly why: string) {
    super(`${file}: ${why}`);
  }
}

const BLOCK = 512;
const MANIFEST = "manifest.txt";
const EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const sha256 = (...parts: (Uint8Array | string)[]): Buffer =>
  parts.reduce((hash: Hash, part) => hash.update(part), createHash("sha256")).digest();
const node = (left: Uint8Array, right: Uint8Array) => sha256("\x01", left, right);

function must(holds: unknown, file: string, why: string): asserts holds {
  if (!holds) throw new Fault(file, why);
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

/** A public key of a signed note. */
interface Key {
  readonly name: string;
  readonly raw: Buffer;
}

function readKey(text: string): Key | null {
  const [, name = "", , encoded = ""] = /^([^+]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text) ?? [];
  const key = { name, raw: Buffer.from(encoded, "base64").subarray(1) };
  return key.raw.length === 32 && keyText(key) === text ? key : null;
}

const typed = ({ raw }: Key) => Buffer.concat([Buffer.of(1), raw]);
const idOf = (key: Key) => sha256(`${key.name}\n`, typed(key)).subarray(0, 4);
const keyText = (key: Key) =>
  `${key.name}+${idOf(key).toString("hex")}+${typed(key).toString("base64")}`;

function isSigned({ raw }: Key, text: string | Uint8Array, signature: Uint8Array): boolean {
  const key = { kty: "OKP", crv: "Ed25519", x: raw.toString("base64url") };
  return verify(null, Buffer.from(text), createPublicKey({ key, format: "jwk" }), signature);
}

/** True when a note carries exactly one signature of each key, in this order. */
function isNoteOf(note: string, ...keys: readonly Key[]): boolean {
  const end = note.indexOf("\n\n");
  const lines = note.slice(end + 2).split("\n");
  return end > 0 && lines.length === keys.length + 1 && lines.at(-1) === "" &&
    keys.every((key, at) => {
      const signature = Buffer.from(lines[at]!.split(" ").at(-1)!, "base64").subarray(4);
      const mark = Buffer.concat([idOf(key), signature]).toString("base64");
      return lines[at] === `— ${key.name} ${mark}` &&
        isSigned(key, note.slice(0, end + 1), signature);
    });
}

/** The keys of a log: the one that signs now, and its predecessors with the rows that they signed for. */
class Keys {
  readonly #former: { readonly key: Key; readonly rows: number }[] = [];

  constructor(readonly now: Key, readonly handovers: readonly string[]) {
    let next = now;
    for (const note of handovers.toReversed()) {
      const [name, old = "", to, rows = ""] = note.split("\n");
      const key = readKey(old.slice("key ".length));
      const follows = key !== null && name === now.name && key.name === name &&
        to === `next ${keyText(next)}` && /^rows \d+$/.test(rows) && isNoteOf(note, key, next);
      must(follows, "keys.json", "a key was not handed over");
      this.#former.unshift({ key, rows: Number(rows.slice("rows ".length)) });
      next = key;
    }
  }

  has = (text: string): boolean =>
    [this.now, ...this.#former.map(({ key }) => key)].some((key) => keyText(key) === text);

  /** The statement of a checkpoint that one of the keys may have signed; more lines follow those of a checkpoint. */
  read(note: string, file: string, more?: Key): { size: number; root: Buffer; rest: string[] } {
    const lines = note.slice(0, Math.max(0, note.indexOf("\n\n"))).split("\n");
    const [origin, size = "", root = "", , , ...rest] = lines;
    const signers = [
      this.now,
      ...this.#former.filter(({ rows }) => Number(size) <= rows).map(({ key }) => key),
    ];
    const signed = signers.some((key) => isNoteOf(note, key, ...more === undefined ? [] : [more]));
    must(origin === this.now.name && signed, file, "a checkpoint is not signed by the log's key");
    return { size: Number(size), root: Buffer.from(root, "base64"), rest };
  }
}

const KEPT = 8;
const ROW =
  /^\{"seq":([1-9]\d*),"leaf_hash":"([^"]+)",(?:"before":\{"after":(0|[1-9]\d*),"hashes":(\["[^\]]*"\])\},)?(?:"tile_hash":"([^"]+)",)?/;

/** What a row says about the receipt of a command. */
interface ReceiptRow {
  readonly agentId: string;
  readonly signature: string;
  readonly line: string;
}

/** Checks the export of a log line by line (docs/audit.md), with the memory of one line. */
class Export {
  rows = 0;
  proof: { readonly [name: string]: unknown } | null = null;
  readonly receipts = new Map<number, ReceiptRow>();
  readonly #peaks: [level: number, hash: Buffer][] = [];
  readonly #numbers = createHash("sha256");
  #last = 0;
  #gap = 0;

  line(bytes: Buffer, file: string): void {
    const fail = (why: string, row = this.#last + 1) => `row ${row} ${why}`;
    must(this.proof === null, file, "something follows the proof");
    const text = bytes.toString("latin1");
    if (text.startsWith('{"proof":')) {
      const whole = bytes.toString();
      try {
        this.proof = JSON.parse(whole).proof;
      } catch {
        this.proof = null;
      }
      const written = JSON.stringify({ proof: this.proof }) === whole;
      must(
        this.proof !== null && written && this.proof.after === this.#last,
        file,
        fail("is missing"),
      );
      return;
    }
    const [front = "", number = "", claimed, after, hashes, tile] = ROW.exec(text) ?? [];
    const seq = Number(number);
    must(front !== "", file, fail("cannot be read"));
    must(after === undefined || Number(after) === this.#last, file, fail("is missing"));
    this.#skip(seq - 1, JSON.parse(hashes ?? "[]"), file);
    this.#last = seq;
    this.rows++;
    const leaf = sha256("\0{", bytes.subarray(front.length));
    const full = this.#add(leaf)?.toString("base64");
    must(leaf.toString("base64") === claimed && full === tile, file, fail("was altered", seq));
    this.#numbers.update(`${seq}\n`);
    if (text.includes('"receipt":{')) this.#note(JSON.parse(bytes.toString()));
  }

  /** Compares the rows with the tree of a checkpoint and with the signed choice of rows. */
  end(size: number, root: Buffer, expired: number, chosen: readonly string[], file: string): void {
    must(this.proof !== null, file, `row ${this.#last + 1} and the rows after it are cut off`);
    this.#skip(size, this.proof.hashes as string[], file);
    let digest = this.#peaks.pop()?.[1] ?? sha256();
    while (this.#peaks.length > 0) digest = node(this.#peaks.pop()![1], digest);
    const [filter, held] = chosen;
    const allowed = filter !== "filter {}" || this.#gap <= expired;
    const all = digest.equals(root) && held === `rows ${this.rows} ${this.#numbers.digest("hex")}`;
    must(allowed && all, file, "the rows do not match the signed checkpoint");
  }

  #note({ seq, agent_id, event_type, resource_type, details }: Row): void {
    const reason = REASONS[event_type];
    if (resource_type !== "command" || agent_id === undefined || reason === undefined) return;
    const { command_id, exit_code, signal, truncated, receipt } = details;
    const { signature, verdict, stdout_sha256 = EMPTY, stderr_sha256 = EMPTY } = receipt;
    const ended = `${exit_code ?? "-"} ${signal ?? "-"} ${reason} ${truncated}`;
    const line = `${command_id} ${verdict} ${ended} ${stdout_sha256} ${stderr_sha256}\n`;
    this.receipts.set(seq, { agentId: agent_id, signature, line });
  }

  #add(hash: Buffer, level = 0): Buffer | undefined {
    let tile: Buffer | undefined;
    while (this.#peaks.at(-1)?.[0] === level) {
      hash = node(this.#peaks.pop()![1], hash);
      if (++level === KEPT) tile = hash;
    }
    this.#peaks.push([level, hash]);
    return tile;
  }

  /** Adds rows that are left out: the largest complete subtrees that fit, from left to right. */
  #skip(to: number, hashes: readonly string[], file: string): void {
    let size = this.#last;
    for (const text of hashes) {
      let level = 0;
      while (size % 2 ** (level + 1) === 0 && size + 2 ** (level + 1) <= to) level++;
      const hash = Buffer.from(text, "base64");
      must(
        hash.length === 32 && hash.toString("base64") === text,
        file,
        `row ${size + 1}: not a hash`,
      );
      this.#add(hash, level);
      size += 2 ** level;
      this.#gap = to;
    }
    must(size === to, file, `row ${this.#last + 1} is missing`);
  }
}

interface Row {
  readonly seq: number;
  readonly agent_id?: string;
  readonly event_type: string;
  readonly resource_type: string;
  // deno-lint-ignore no-explicit-any
  readonly details: any;
}

const REASONS: Readonly<Record<string, string>> = {
  command_executed: "exited",
  command_timeout: "timed_out",
  command_cancelled: "cancelled",
  command_failed: "failed_to_start",
};

/** True when the tree of `to` leaves begins with the tree of `from` (RFC 6962, 2.1.4.2). */
function isGrowth(from: number, to: number, old: Buffer, now: Buffer, path: Buffer[]): boolean {
  if (from === to) return path.length === 0 && old.equals(now);
  if (from === 0 || from > to) return path.length === 0 && from === 0;
  const rest = Number.isInteger(Math.log2(from)) ? [old, ...path] : [...path];
  let at = from - 1, last = to - 1;
  const up = () => [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  while (at % 2 === 1) up();
  const first = rest.shift();
  if (first === undefined) return false;
  let [left, right] = [first, first];
  for (const hash of rest) {
    if (last === 0) return false;
    if (at % 2 === 1 || at === last) {
      [left, right] = [node(hash, left), node(hash, right)];
      while (at % 2 === 0 && at !== 0) up();
    } else right = node(right, hash);
    up();
  }
  return last === 0 && left.equals(old) && right.equals(now);
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
