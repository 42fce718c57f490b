#!/usr/bin/env python3
"""Verifies a draw of this shop: scripts/verify_draw.py PROOF ENTRIES

A second implementation of `seckill verify-draw`, after docs/draw.md, with Python's standard library alone. It does not
verify the signature of a drand round, which needs pairings on BLS12-381, and says so.

Exit code 0: everything that was checked holds. 1: something does not hold. 2: a file is not readable.
"""

import datetime
import gzip
import hashlib
import json
import re
import sys

GENESIS, PERIOD = 1_692_803_367, 3
# A round this late may be given up, for the first one that appears more than so long after its announcement.
OVERDUE, NOTICE = 3_600, 600
FIELDS = {
    *("protocol", "rules", "n", "root", "excluded", "entries_sha256"),
    *("changes", "round", "signature", "secret", "seed"),
}
TYPES_OF_CHANGE = {"from": int, "to": int, "at": str, "reason": str}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d(\.\d{0,8}[1-9])?Z", re.ASCII)
RULES = re.compile(
    r"seckill-draw/1\nsale [1-9]\d*\nunits \d+\ntickets 1\nopens_at (?P<opens_at>\S+)\ncloses_at (?P<closes_at>\S+)\n"
    r"window_s \d+\nrandomness (?:none|(?P<beacon>quicknet|sandbox) (?P<round>[1-9]\d*))\n"
    r"commitment (?P<commitment>[0-9a-f]{64})\n",
    re.ASCII,
)
LINE = re.compile(rb"([0-9a-f]{32}),(?:(in)|excluded:([a-z_]+))", re.ASCII)


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def unhex(digits):
    """The bytes, or None if they have another text."""
    return bytes.fromhex(digits) if re.fullmatch("([0-9a-f]{2})*", digits or "") else None


def read_proof(text):
    """The proof's fields. What is not a field, or occurs twice, belongs to another protocol."""

    def once(pairs):
        fields = dict(pairs)
        if len(fields) < len(pairs):
            raise ValueError("a field occurs twice")
        return fields

    proof = json.loads(text, object_pairs_hook=once)
    if not isinstance(proof, dict) or set(proof) - FIELDS:
        raise ValueError(f"not the fields of a proof: {sorted(set(proof) - FIELDS)}")
    changes = proof.setdefault("changes", [])
    if not isinstance(changes, list):
        raise ValueError("changes are a list")
    for change in changes:
        if {field: type(value) for field, value in change.items()} != TYPES_OF_CHANGE:
            raise ValueError(f"not the fields of a change: {change}")
        if not TIME.fullmatch(change["at"]) or max(abs(change["from"]), abs(change["to"])) >> 63:
            raise ValueError(f"not a change of the round: {change}")
    # A draw without public randomness has neither.
    return {"round": None, "signature": None} | proof


def seconds(time):
    """Rounds appear at whole seconds, so the whole seconds of a time suffice."""
    return int(datetime.datetime.strptime(time[:19] + "+0000", "%Y-%m-%dT%H:%M:%S%z").timestamp())


def due(number):
    """When a round appears."""
    return GENESIS + (number - 1) * PERIOD


def changes_follow(rules, changes):
    """Whether the changes lead from the announced round to the last one, each by the rule."""
    number = rules["round"] and int(rules["round"])
    for change in changes:
        at = seconds(change["at"])
        later = max(1, (at + NOTICE - GENESIS) // PERIOD + 2)
        if number is None or (change["from"], change["to"]) != (number, later) or at - due(number) < OVERDUE:
            return False
        number = later
    return True


def read_list(csv):
    """The entries that take part, and the excluded ones by reason."""
    header, *lines = csv.split(b"\n")
    if header != b"entry,status" or lines.pop() != b"":
        raise ValueError("not a list of entries")
    taking_part, excluded, last = [], {}, b""
    for line in lines:
        match = LINE.fullmatch(line)
        if not match or match[1] <= last:
            raise ValueError(f"not an entry, or not in order: {line!r}")
        last = match[1]
        if match[2]:
            taking_part.append(bytes.fromhex(match[1].decode()))
        else:
            reason = match[3].decode()
            excluded[reason] = excluded.get(reason, 0) + 1
    return taking_part, excluded


def merkle_root(entries):
    """RFC 6962, level by level: a node without a sibling goes up as it is."""
    level = [sha256(b"\0", entry) for entry in entries] or [sha256()]
    while len(level) > 1:
        pairs = [sha256(b"\1", *level[at : at + 2]) for at in range(0, len(level) - 1, 2)]
        level = pairs + level[len(level) & ~1 :]
    return level[0]


def randomness(rules, proof):
    """The bytes of the round and of its random number, and whether they are right, as far as can be told here."""
    if rules["beacon"] is None:
        return bytes(8), bytes(32), (proof["round"], proof["signature"]) == (None, None)
    number = ([int(rules["round"])] + [change["to"] for change in proof["changes"]])[-1]
    if number < 1:
        return bytes(8), bytes(32), False
    signature = unhex(proof["signature"]) or b""
    holds = proof["round"] == number and signature != b""
    big_endian = number.to_bytes(8, "big")
    if rules["beacon"] == "sandbox":
        holds = holds and signature == sha256(b"seckill-sandbox-round", big_endian)
    return big_endian, sha256(signature), holds


def appears_after_entries(rules):
    return rules["beacon"] is None or due(int(rules["round"])) > seconds(rules["closes_at"])


def verify(proof, csv):
    """Promises and whether they hold, and the order."""
    entries, excluded = read_list(csv)
    root, n = merkle_root(entries), len(entries)
    match = RULES.fullmatch(proof["rules"])
    checks = {
        "the protocol is known": proof["protocol"] == "seckill-draw/1",
        "the list of entries is the one that the proof names": proof["entries_sha256"] == sha256(csv).hex(),
        "the numbers of entries are those of the list": (proof["n"], proof["excluded"]) == (n, excluded),
        "the entries have the published root": proof["root"] == root.hex(),
        "the rules are complete and canonical": bool(match),
    }
    if not match:
        return checks, []
    rules = match.groupdict()
    number, random, is_random = randomness(rules, proof)
    secret = unhex(proof["secret"])
    checks["the round appears after the last entry"] = appears_after_entries(rules)
    if proof["changes"]:
        checks["each change of the round follows from its time"] = changes_follow(rules, proof["changes"])
    checks["the randomness is that of the awaited round"] = is_random
    checks["the secret is the one that the rules commit to"] = sha256(secret or b"").hex() == rules["commitment"]
    if not is_random or secret is None:
        return checks, []
    digest = sha256(proof["rules"].encode())
    seed = sha256(b"seckill-draw/1", digest, root, n.to_bytes(8, "big"), number, random, secret)
    checks["the seed follows from all of these"] = proof["seed"] == seed.hex()
    return checks, sorted(entries, key=lambda entry: (sha256(seed, b"\0", entry, bytes(4)), entry))


def read(path):
    with open(path, "rb") as file:
        content = file.read()
    return gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content


def main(proof_path, entries_path):
    try:
        proof = read_proof(read(proof_path))
        checks, order = verify(proof, read(entries_path))
    except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError) as error:
        print(f"verify_draw.py: {error!r}", file=sys.stderr)
        return 2
    for promise, holds in checks.items():
        print("ok  " if holds else "FAIL", promise)
    if not all(checks.values()):
        return 1
    if "\nrandomness quicknet " in proof["rules"]:
        print("note the signature of the drand round is not verified here: seckill verify-draw does")
    else:
        print("note without drand's randomness the shop must be trusted not to have chosen its secret or the entries")
    for change in proof["changes"]:
        print(f"note the shop says that round {change['from']} had not appeared at {change['at']}")
    for rank, entry in enumerate(order, 1):
        print(rank, entry.hex())
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
