"""Checks an NDJSON export of Relay's audit log by docs/audit.md alone: verify.py EXPORT KEY"""
import json, re, subprocess, sys, tempfile
from base64 import b64decode, b64encode
from hashlib import sha256

BEFORE = rb'(?:"before":\{"after":(0|[1-9]\d*),"hashes":(\["[^\]]*"\])\},)?'
FRONT = rb'\{"seq":([1-9]\d*),"leaf_hash":"([^"]+)",'
ROW = re.compile(FRONT + BEFORE + rb'(?:"tile_hash":"([^"]+)",)?(.+)\n?')
peaks, gaps, last, rows, numbers, proof = [], [0], 0, 0, sha256(), None

def check(holds, row, why):
    if not holds:
        sys.exit(f"INVALID: row {row}: {why}")

def add(digest, level=0):  # a complete subtree of 2^level rows; answers the tile that it completes
    tile = None
    while peaks and peaks[-1][0] == level:
        level, digest = level + 1, sha256(b"\1" + peaks.pop()[1] + digest).digest()
        tile = digest if level == 8 else tile
    peaks.append((level, digest))
    return tile and b64encode(tile)

def skip(size, to, hashes):  # rows that are left out: the largest subtrees that fit, left to right
    for text in hashes:
        fitting = (n for n in range(64) if size % 2**n == 0 and size + 2**n <= to)
        level = max(fitting, default=0)
        check(re.fullmatch("[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=", text), size + 1, "not a hash")
        add(b64decode(text), level)
        size += 2**level
        gaps.append(to)
    check(size == to, last + 1, "missing")

def signed(text, lines, *keys):  # whether a note's signatures are of these keys, and no others
    made = ""
    for line, key in zip(lines.split("\n"), keys):
        name, _, key = key.split("+", 2)
        key, signature = b64decode(key), b64decode(line.split(" ")[-1])[4:]
        mark = sha256(f"{name}\n".encode() + key).digest()[:4] + signature
        made += f"— {name} {b64encode(mark).decode()}\n"
        der = bytes.fromhex("302a300506032b6570032100") + key[1:]
        with tempfile.TemporaryDirectory() as d:
            for file, data in zip("kts", (der, f"{text}\n".encode(), signature)):
                open(f"{d}/{file}", "wb").write(data)
            openssl = "openssl pkeyutl -verify -pubin -keyform DER -inkey k -rawin -in t -sigfile s"
            if subprocess.run(openssl.split(), cwd=d, capture_output=True).returncode:
                return False
    return made == lines

for line in open(sys.argv[1], "rb"):
    if proof is None and line.startswith(b'{"proof":'):
        proof = json.loads(line)["proof"]
        text = json.dumps({"proof": proof}, separators=(",", ":"), ensure_ascii=False) + "\n"
        check(text.encode() == line and proof["after"] == last, last + 1, "missing")
    else:
        follows = not proof and (found := ROW.fullmatch(line)) and int(found[3] or last) == last
        check(follows, last + 1, "missing, or cannot be read")
        skip(last, int(found[1]) - 1, json.loads(found[4] or b"[]"))
        last, rows, leaf = int(found[1]), rows + 1, sha256(b"\0{" + found[6]).digest()
        check((b64encode(leaf), add(leaf)) == (found[2], found[5]), last, "altered")
        numbers.update(b"%d\n" % last)
check(proof, last + 1, "cut off")
body, mark = proof["checkpoint"].split("\n\n")
_, size, root, _, expired, asked, held = body.split("\n")
skip(last, int(size), proof["hashes"])
digest = peaks.pop()[1]
while peaks:
    digest = sha256(b"\1" + peaks.pop()[1] + digest).digest()
check(asked != "filter {}" or max(gaps) <= int(expired[8:]), int(expired[8:]) + 1, "missing")
said = (b64encode(digest).decode(), f"rows {rows} {numbers.hexdigest()}")
check(said == (root, held), 1, "the rows do not match the signature")
keys, handed = [proof["public_key"]], []
for note in reversed(proof.get("handovers", [])):  # each former key and the one after it signed one
    text, lines = note.split("\n\n")
    log, old, new, held, _ = text.split("\n")
    keys.insert(0, old[4:])
    follows = (old[:4], new, {log}) == ("key ", f"next {keys[1]}", {k.split("+")[0] for k in keys})
    check(follows and signed(text, lines, *keys[:2]), last, "a key was not handed over")
    handed.append(f"rows up to {held[5:]} were signed by {old[4:]}")
check(sys.argv[2] in keys and signed(body, mark, keys[-1]), last, "the signature was not made by this key")
print("\n".join([f"valid: {rows} rows", *reversed(handed)]))
