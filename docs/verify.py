"""Checks what Relay's audit log proves, by docs/audit.md and docs/compliance.md alone and without a network:

    verify.py EXPORT KEY      an NDJSON export; names the first row that differs
    verify.py ARCHIVE KEY     an archive of evidence; names the first file that differs, and the row

KEY is the log's public key, from somewhere else than the file. verify.ts does the same for archives, in TypeScript.
"""
import json, re, subprocess, sys, tempfile
from base64 import b64decode, b64encode, urlsafe_b64decode
from datetime import datetime
from hashlib import sha256

try:  # a fast Ed25519, where it is installed; else openssl verifies each signature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
except ImportError:
    Ed25519PublicKey = None

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
BEFORE = rb'(?:"before":\{"after":(0|[1-9]\d*),"hashes":(\["[^\]]*"\])\},)?'
FRONT = rb'\{"seq":([1-9]\d*),"leaf_hash":"([^"]+)",'
ROW = re.compile(FRONT + BEFORE + rb'(?:"tile_hash":"([^"]+)",)?(.+)\n?')
REASONS = {"command_executed": "exited", "command_timeout": "timed_out",
           "command_cancelled": "cancelled", "command_failed": "failed_to_start"}

class Wrong(Exception):  # where, and why
    pass

def must(holds, where, why):
    if not holds:
        raise Wrong(where, why)

def node(left, right):
    return sha256(b"\1" + left + right).digest()

def compact(value, **how):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, **how)

def is_signed(key, text, signature):  # by the 32 bytes of an Ed25519 key
    if Ed25519PublicKey:
        try:
            return Ed25519PublicKey.from_public_bytes(key).verify(signature, text) is None
        except Exception:
            return False
    der = bytes.fromhex("302a300506032b6570032100") + key
    with tempfile.TemporaryDirectory() as d:
        for file, data in zip("kts", (der, text, signature)):
            open(f"{d}/{file}", "wb").write(data)
        openssl = "openssl pkeyutl -verify -pubin -keyform DER -inkey k -rawin -in t -sigfile s"
        return not subprocess.run(openssl.split(), cwd=d, capture_output=True).returncode

def is_note_of(note, *keys):  # whether a note carries one signature of each of these keys, and no others
    text, _, lines = note.partition("\n\n")
    made, good = "", True
    for line, key in zip(lines.split("\n"), keys):
        name, _, key = key.split("+", 2)
        key, signature = b64decode(key), b64decode(line.split(" ")[-1])[4:]
        mark = sha256(f"{name}\n".encode() + key).digest()[:4] + signature
        made += f"— {name} {b64encode(mark).decode()}\n"
        good = good and is_signed(key[1:], f"{text}\n".encode(), signature)
    return good and made == lines

def chain_of(last, handovers):  # the keys of a log, oldest first, with the rows that each signed for
    keys = [(last, float("inf"))]
    for note in reversed(handovers):
        log, old, new, held, _ = note.split("\n\n")[0].split("\n")
        names = {log, old[4:].split("+")[0], last.split("+")[0]}
        follows = (old[:4], new, len(names)) == ("key ", f"next {keys[0][0]}", 1)
        must(follows and is_note_of(note, old[4:], keys[0][0]), "keys", "a key was not handed over")
        keys.insert(0, (old[4:], int(held[5:])))
    return keys

class Export:  # the rows of a log, checked line by line with the memory of one
    def __init__(self):
        self.peaks, self.gap, self.last, self.rows = [], 0, 0, 0
        self.numbers, self.proof, self.receipts = sha256(), None, {}

    def must(self, holds, row, why):
        must(holds, f"row {row}", why)

    def add(self, digest, level=0):  # a complete subtree of 2^level rows; answers the tile that it completes
        tile = None
        while self.peaks and self.peaks[-1][0] == level:
            level, digest = level + 1, node(self.peaks.pop()[1], digest)
            tile = digest if level == 8 else tile
        self.peaks.append((level, digest))
        return tile and b64encode(tile)

    def skip(self, to, hashes):  # rows that are left out: the largest subtrees that fit, left to right
        size = self.last
        for text in hashes:
            fitting = (n for n in range(64) if size % 2**n == 0 and size + 2**n <= to)
            level = max(fitting, default=0)
            self.must(re.fullmatch("[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=", text), size + 1, "not a hash")
            self.add(b64decode(text), level)
            size, self.gap = size + 2**level, to
        self.must(size == to, self.last + 1, "missing")

    def line(self, line):
        if self.proof is None and line.startswith(b'{"proof":'):
            self.proof = json.loads(line)["proof"]
            text = compact({"proof": self.proof}) + "\n"
            self.must(text.encode() == line and self.proof["after"] == self.last, self.last + 1, "missing")
            return
        found = not self.proof and ROW.fullmatch(line)
        follows = found and int(found[3] or self.last) == self.last
        self.must(follows, self.last + 1, "missing, or cannot be read")
        self.skip(int(found[1]) - 1, json.loads(found[4] or b"[]"))
        self.last, self.rows = int(found[1]), self.rows + 1
        leaf = sha256(b"\0{" + found[6]).digest()
        whole = (b64encode(leaf), self.add(leaf)) == (found[2], found[5])
        self.must(whole, self.last, "altered")
        self.numbers.update(b"%d\n" % self.last)
        if b'"receipt":{' in line:
            self.note(json.loads(line))

    def note(self, row):  # the line of a result in the text that its agent signed
        reason, details = REASONS.get(row["event_type"]), row["details"]
        if row["resource_type"] != "command" or reason is None or "agent_id" not in row:
            return
        receipt, text = details["receipt"], lambda value: "-" if value is None else str(value)
        fields = (details["command_id"], receipt["verdict"], text(details["exit_code"]),
                  text(details["signal"]), reason, str(details["truncated"]).lower(),
                  receipt.get("stdout_sha256", EMPTY), receipt.get("stderr_sha256", EMPTY))
        self.receipts[row["seq"]] = (row["agent_id"], receipt["signature"], " ".join(fields) + "\n")

    def end(self, key):  # compares the rows with the signed proof; answers who signed, and for what
        self.must(self.proof, self.last + 1, "cut off")
        proof = self.proof
        body, _ = proof["checkpoint"].split("\n\n")
        _, size, root, _, expired, asked, held = body.split("\n")
        self.skip(int(size), proof["hashes"])
        digest = self.peaks.pop()[1] if self.peaks else sha256().digest()
        while self.peaks:
            digest = node(self.peaks.pop()[1], digest)
        expired = int(expired[8:])
        self.must(asked != "filter {}" or self.gap <= expired, expired + 1, "missing")
        said = (b64encode(digest).decode(), f"rows {self.rows} {self.numbers.hexdigest()}")
        self.must(said == (root, held), 1, "the rows do not match the signature")
        keys = chain_of(proof["public_key"], proof.get("handovers", []))
        known = key in [one for one, _ in keys] and is_note_of(proof["checkpoint"], proof["public_key"])
        self.must(known, self.last, "the signature was not made by this key")
        return size, root, asked, keys

def header_of(name, size, time):  # every other byte of a file's header follows from these
    fields = f"{name}".encode().ljust(100, b"\0") + b"0000644\0" + b"0000000\0" * 2
    fields += b"%011o\0%011o\0" % (size, time) + b" " * 8 + b"0".ljust(101, b"\0") + b"ustar\00000"
    header = bytearray(fields.ljust(512, b"\0"))
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)

def files_of(archive):  # the files of a tar archive; every byte between them is checked
    before = "the start"
    def take(size, where):
        data = archive.read(size)
        must(len(data) == size, where, "the archive is cut off here")
        return data
    while any(header := take(512, f"the header after {before}")):
        name = header[:100].split(b"\0")[0].decode("latin1")
        numbers = [re.fullmatch(rb"[0-7]{11}\0", header[at:at + 12]) for at in (124, 136)]
        size, time = [int(one[0][:11], 8) if one else -1 for one in numbers]
        known = re.fullmatch(r"[\w./-]{1,99}", name, re.A) and size >= 0 and time >= 0
        must(known and header == header_of(name, size, time), f"the header after {before}", "it was altered")
        data = take(size, name)
        must(not any(take(-size % 512, name)), name, "the bytes after it were altered")
        yield name, data, time
        before = name
    must(not any(take(512, "the end")), "the end", "it was altered")
    must(not archive.read(1), "the end", "bytes were added")

def is_growth(old, new, old_root, new_root, path):  # RFC 6962, 2.1.4.2
    if old == new:
        return not path and old_root == new_root
    if old == 0 or old > new:
        return old == 0 and not path
    path = ([old_root] if old & (old - 1) == 0 else []) + path
    at, last = old - 1, new - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    left = right = path[0] if path else b""
    for digest in path[1:]:
        if last == 0:
            return False
        if at & 1 or at == last:
            left, right = node(digest, left), node(digest, right)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            right = node(right, digest)
        at, last = at >> 1, last >> 1
    return (last, left, right) == (0, old_root, new_root)

class Archive:
    def __init__(self):
        self.export, self.rest, self.counts = Export(), b"", {}
        self.keys, self.agents, self.state = [], {}, None

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def read(self, note, where, *more):  # a checkpoint by a key that may have signed so many rows
        log, size, root = note.split("\n")[:3]
        signed = any(int(size) <= rows and is_note_of(note, key, *more) for key, rows in self.keys)
        must(signed and log == self.keys[-1][0].split("+")[0], where, "a checkpoint is not signed by the log's key")
        return int(size), b64decode(root)

    def file(self, name, data):
        folder = name.split("/")[0]
        if name == "keys.json":
            keys = json.loads(data)
            for one in keys["agents"]:
                key = b"\1" + urlsafe_b64decode(one["public_key"] + "=")
                mark = sha256(one["id"].encode() + b"\n" + key).hexdigest()[:8]
                self.agents[one["id"]] = f"{one['id']}+{mark}+{b64encode(key).decode()}"
            self.keys = chain_of(keys["log"]["public_key"], keys["log"]["handovers"])
        elif name == "checkpoint.txt":
            self.state = (data.decode(), *self.read(data.decode(), name))
        elif name in ("checkpoints.ndjson", "witnesses.ndjson"):
            for line in data.decode().split("\n")[:-1]:
                one = json.loads(line)
                more = [self.agents[one["agent_id"]]] if "agent_id" in one else []
                size, root = self.read(one["note"], name, *more)
                path = [b64decode(digest) for digest in one["path"]]
                grown = is_growth(size, self.state[1], root, self.state[2], path)
                must(grown, name, f"the log does not continue its state of {size} rows")
                self.count("witnesses" if more else "checkpoints")
        elif folder == "reports" and name.endswith(".json"):
            one = json.loads(data)
            digest = sha256(compact(one["report"], sort_keys=True).encode()).hexdigest()
            about = one["note"].split("\n")[2] == f"report {one['id']} {one['type']}"
            about = about and f"\nsha256 {digest}\n\n" in one["note"]
            must(about and is_note_of(one["note"], self.keys[-1][0]), name, "its signature is not of this report")
            must(one["report"]["log"]["checkpoint"] == self.state[0], name, "it counted another state of the log")
            self.count("reports")
        elif folder == "audit":
            *lines, self.rest = (self.rest + data).split(b"\n")
            for line in lines:
                self.export.line(line + b"\n")
        elif folder == "receipts":
            for line in data.decode().split("\n")[:-1]:
                self.receipt(name, **json.loads(line))

    def receipt(self, name, agent_id, signature, rows, text):
        found = [self.export.receipts.pop(row, ("", "", "")) for row in rows]
        same = all(one[:2] == (agent_id, signature) for one in found)
        lines = "".join(sorted(one[2] for one in found))
        same = same and text == f"relay.receipt.v1\n{agent_id}\n{lines}"
        must(same, name, f"the receipt of row {rows[0]} is not what the rows say")
        key = b64decode(self.agents.get(agent_id, "++").split("+", 2)[2])[1:]
        proven = key and is_signed(key, text.encode(), urlsafe_b64decode(signature + "=="))
        self.count("receipts" if proven else "unproven")

    def end(self, key, note, entries, time):
        lines = note.split("\n\n")[0].split("\n")
        by = key if is_note_of(note, key) else self.keys[-1][0] if self.keys else key
        known = by == key or key in [one for one, _ in self.keys]
        must(known and is_note_of(note, by) and lines[0] == "relay-evidence/1" and
             lines[1] == by.split("+")[0], "manifest.txt", "its signature is not by the log's key")
        for listed, entry in zip(lines[7:], entries):
            must(listed == entry, listed.split(" ")[3], "it is not as the manifest says")
        must(len(entries) == len(lines) - 7, "manifest.txt", "it lists other files")
        made = datetime.fromisoformat(lines[4][5:].replace("Z", "+00:00"))
        must(int(made.timestamp()) == time, "manifest.txt", "the files have another time")
        return lines

def check_archive(archive, key):
    check, entries, wrong, manifest, first = Archive(), [], None, None, None
    for name, data, time in files_of(archive):
        first = time if first is None else first
        must(manifest is None and time == first, name, "it follows the manifest, or has another time")
        if name == "manifest.txt":
            manifest = data.decode(errors="replace")
            continue
        entries.append(f"file {sha256(data).hexdigest()} {len(data)} {name}")
        try:
            wrong or check.file(name, data)
        except Wrong as error:
            where, why = error.args
            wrong = Wrong(name, why if where in (name, "keys") else f"{where}: {why}")
        except Exception:
            wrong = Wrong(name, "it cannot be read")
    must(manifest, "manifest.txt", "it is missing: the archive is not whole")
    try:
        lines = check.end(key, manifest, entries, first)
    except Wrong as error:  # the file's own fault names the row
        raise wrong if wrong and wrong.args[0] == error.args[0] else error
    if wrong:
        raise wrong
    try:
        must(not check.rest, "the last row", "cut off")
        size, root, asked, keys = check.export.end(check.keys[-1][0])
        must((int(size), b64decode(root)) == check.state[1:], "the proof", "it is of another state of the log")
        start, end = lines[3].split(" ")[1:]
        must(asked == "filter " + compact({"end_time": end, "start_time": start}), "the proof", "another period")
        must(lines[6].startswith(f"checkpoint {size} "), "the manifest", "it is of another state of the log")
        must(not check.export.receipts, "receipts", "the receipt of a row is missing")
    except Wrong as error:
        raise Wrong("audit", ": ".join(error.args))
    counts = ", ".join(f"{count} {what}" for what, count in sorted(check.counts.items()))
    print(f"valid: {lines[2]} of {lines[1]}\n{lines[3]}\n{check.export.rows} of {size} rows; {counts}")

def check_export(lines, key):
    export = Export()
    for line in lines:
        export.line(line)
    *_, keys = export.end(key)
    print("\n".join([f"valid: {export.rows} rows",
                     *(f"rows up to {rows} were signed by {one}" for one, rows in keys[:-1])]))

if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        start = file.read(262)
        file.seek(0)
        is_archive = start[257:] == b"ustar" or start.startswith(b"README.txt")
        try:
            (check_archive if is_archive else check_export)(file, sys.argv[2])
        except Wrong as error:
            sys.exit("INVALID: " + ": ".join(error.args))
