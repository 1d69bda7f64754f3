#!/usr/bin/env python3
"""Checks an export of Relay's audit log (JSON or NDJSON): python3 verify.py EXPORT [KEY]

Written from docs/audit.md alone, with Python's own library; openssl checks the signature when
the log's public key is given. Prints "whole: N rows" or the first row that is wrong.
"""
import base64, hashlib, json, re, subprocess, sys, tempfile

ROW = re.compile(rb'\{"seq":([1-9]\d*),"leaf_hash":"([^"]+)",(?:"before":\{"after":(0|[1-9]\d*),'
                 rb'"hashes":\[("[^\]]*")\]\},)?(?:"tile_hash":"([^"]+)",)?')
HASH = re.compile(r"[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=")  # 32 bytes, written in the one way that exports do
sha = lambda *parts: hashlib.sha256(b"".join(parts)).digest()
size, peaks, last, gap = 0, [], 0, 0

def fail(row, why):
    sys.exit(f"NOT WHOLE: row {row}: {why}")

def add(digest, level=0):  # a complete subtree of 2^level leaves, to the right of what is there
    global size
    size, tile = size + (1 << level), None
    while peaks and peaks[-1][0] == level:
        level, digest = level + 1, sha(b"\1", peaks.pop()[1], digest)
        tile = digest if level == 8 else tile
    peaks.append((level, digest))
    return tile  # the hash over the 256 rows that it completed

def skip(to, hashes):  # rows that are not in the export: the largest subtrees that fit, left to right
    for text in hashes:
        level = 0
        while size % (2 << level) == 0 and size + (2 << level) <= to:
            level += 1
        if not HASH.fullmatch(text):
            fail(last + 1, "a hash cannot be read")
        add(base64.b64decode(text), level)
    if size != to:
        fail(last + 1, "missing")

def signed(note, key):
    text, signatures = note.split("\n\n")
    name, _, encoded = key.split("+", 2)
    raw = base64.b64decode(encoded)
    identity = hashlib.sha256(name.encode() + b"\n" + raw).digest()[:4]
    mark, signer, encoded = signatures.strip().split(" ")
    signature = base64.b64decode(encoded)
    pem = base64.b64encode(bytes.fromhex("302a300506032b6570032100") + raw[1:]).decode()
    with tempfile.TemporaryDirectory() as d:
        for file, data in (("k", f"-----BEGIN PUBLIC KEY-----\n{pem}\n-----END PUBLIC KEY-----\n".encode()),
                           ("t", f"{text}\n".encode()), ("s", signature[4:])):
            open(f"{d}/{file}", "wb").write(data)
        good = subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", f"{d}/k", "-rawin",
                               "-in", f"{d}/t", "-sigfile", f"{d}/s"], capture_output=True).returncode == 0
    return good and signature[:4] == identity and (mark, signer) == ("—", name) == ("—", text.split("\n")[0])

proof, rows, numbers, end = None, 0, hashlib.sha256(), b'{"proof":'
comma = blank = whole = False
for at, line in enumerate(open(sys.argv[1], "rb")):
    line, whole = line.removesuffix(b"\n"), line.endswith(b"\n")
    if at == 0 and line == b'{"events":[':
        end, comma = b'],"proof":', None  # JSON: each row but the last has a comma
    elif proof is None and line.startswith(end):
        proof = json.loads(b"{" + line[len(end) - 8:])["proof"]
        if comma:
            fail(last, "a comma stands behind the last row")
    elif at == 1 and end[:1] == b"]" and line == b"":
        blank = True
    else:
        found = ROW.match(line)
        if blank or comma is False and end[:1] == b"]" or line.endswith(b",") and end[:1] == b"{":
            fail(last + 1, "cannot be read")
        comma = line.endswith(b",")
        if not found or proof is not None:
            fail(last + 1, "cannot be read")
        seq, content = int(found[1]), b"{" + line[found.end():].removesuffix(b",")
        if (int(found[3]) if found[3] else seq - 1) != last:
            fail(last + 1, f"row {seq} stands there")
        if found[3]:
            gap = seq - 1
            skip(gap, json.loads(b"[" + found[4] + b"]"))
        leaf = sha(b"\0", content)
        tile = add(leaf)
        if [x and base64.b64encode(x) for x in (leaf, tile)] != [found[2], found[5]]:
            fail(seq, "altered")
        last, rows = seq, rows + 1
        numbers.update(b"%d\n" % seq)
if proof is None or not whole:
    fail(last + 1, "cut off")
origin, leaves, root, _, expired, asked, held = proof["checkpoint"].split("\n\n")[0].split("\n")
skip(int(leaves), proof["hashes"])
digest = b""
for _, peak in reversed(peaks):
    digest = sha(b"\1", peak, digest) if digest else peak
gap = max(gap, int(leaves) if proof["hashes"] else 0)
if asked == "filter {}" and gap > int(expired.split()[1]):
    fail(int(expired.split()[1]) + 1, "missing")
if digest != base64.b64decode(root) or held != f"rows {rows} {numbers.hexdigest()}":
    fail(1, "the rows are not those that were signed")
if len(sys.argv) > 2 and not (sys.argv[2] == proof["public_key"] and signed(proof["checkpoint"], sys.argv[2])):
    fail(last, "the signature is not of this key")
print(f"whole: {rows} rows")
