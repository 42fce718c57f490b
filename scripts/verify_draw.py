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
import zlib

GENESIS, PERIOD = 1_692_803_367, 3
# A round this late may be given up, for the first one that appears more than so long after its announcement.
OVERDUE, NOTICE = 3_600, 600
MAX_PROOF = 65_536
TYPES = {
    **{field: str for field in ("protocol", "rules", "root", "entries_sha256", "signature", "secret", "seed")},
    **{"n": int, "excluded": dict, "changes": list, "round": int},
}
# A draw without public randomness has neither round nor signature.
ABSENT = {"changes": [], "round": None, "signature": None}
TYPES_OF_CHANGE = {"from": int, "to": int, "at": str, "reason": str}
REASONS = ("duplicate", "automated", "ineligible", "account_closed", "other")
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d(?:\.\d{0,8}[1-9])?Z"
NUMBER = r"(?:0|-?[1-9]\d*)"
RULES = re.compile(
    rf"seckill-draw/1\nsale (?P<sale>[1-9]\d*)\nunits (?P<units>{NUMBER})\ntickets 1\n"
    rf"opens_at (?P<opens_at>{TIME})\ncloses_at (?P<closes_at>{TIME})\nwindow_s (?P<window_s>{NUMBER})\n"
    r"randomness (?:none|(?P<beacon>quicknet|sandbox) (?P<round>[1-9]\d*))\n"
    r"commitment (?P<commitment>[0-9a-f]{64})\n",
    re.ASCII,
)
LINE = re.compile(rf"([0-9a-f]{{32}}),(?:(in)|excluded:({'|'.join(REASONS)}))".encode())


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def unhex(digits, size):
    """The bytes, or None if that is not the text of as many."""
    return bytes.fromhex(digits) if re.fullmatch(f"[0-9a-f]{{{2 * size}}}", digits or "") else None


def require(holds, what):
    if not holds:
        raise ValueError(f"not a proof: {what}")


def once(pairs):
    """The fields of an object, each of which occurs once. Texts have no halves of characters, which JSON can write."""
    require(len(dict(pairs)) == len(pairs), "a field occurs twice")
    for _, value in pairs:
        if isinstance(value, str):
            value.encode()
    return dict(pairs)


def read_proof(text):
    """The proof's fields. A field that is unknown or of another type belongs to another protocol."""
    require(len(text) <= MAX_PROOF, "too long")
    proof = ABSENT | json.loads(text.decode(), object_pairs_hook=once)
    for field, value in proof.items():
        is_absent = field in ABSENT and value is None and field != "changes"
        require(is_absent or type(value) is TYPES.get(field), f"{field}: {value!r}")
    require(set(proof) == set(TYPES), "a field is missing")
    counts = [proof["n"], *proof["excluded"].values()]
    require(all(type(n) is int and 0 <= n < 1 << 64 for n in counts), "a number of entries")
    require(set(proof["excluded"]) <= set(REASONS), "a reason")
    require(abs(proof["round"] or 0) >> 63 == 0, "the round")
    for change in proof["changes"]:
        require({field: type(value) for field, value in change.items()} == TYPES_OF_CHANGE, f"{change!r}")
        require(max(abs(change["from"]), abs(change["to"])) >> 63 == 0, f"{change!r}")
        require(re.fullmatch(TIME, change["at"], re.ASCII) and seconds(change["at"]), f"{change!r}")
    return proof


def read_rules(text):
    """The rules, or None if the text is not their canonical one: then another text would be the same rules."""
    match = RULES.fullmatch(text)
    if not match:
        return None
    rules = match.groupdict()
    try:
        rules["closes"], _ = seconds(rules["closes_at"]), seconds(rules["opens_at"])
    except ValueError:
        return None
    numbers = (rules["sale"], rules["units"], rules["window_s"], rules["round"] or "0")
    return None if any(abs(int(number)) >> 63 for number in numbers) else rules


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
    if header != b"entry,status" or not lines or lines.pop() != b"":
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
    signature = unhex(proof["signature"], 32 if rules["beacon"] == "sandbox" else 48) or b""
    holds = proof["round"] == number and signature != b""
    big_endian = number.to_bytes(8, "big")
    if rules["beacon"] == "sandbox":
        holds = holds and signature == sha256(b"seckill-sandbox-round", big_endian)
    return big_endian, sha256(signature), holds


def appears_after_entries(rules):
    return rules["beacon"] is None or due(int(rules["round"])) > rules["closes"]


def verify(proof, csv):
    """Promises and whether they hold, and the order."""
    entries, excluded = read_list(csv)
    root, n = merkle_root(entries), len(entries)
    rules = read_rules(proof["rules"])
    checks = {
        "the protocol is known": proof["protocol"] == "seckill-draw/1",
        "the list of entries is the one that the proof names": proof["entries_sha256"] == sha256(csv).hex(),
        "the numbers of entries are those of the list": (proof["n"], proof["excluded"]) == (n, excluded),
        "the entries have the published root": proof["root"] == root.hex(),
        "the rules are complete and canonical": rules is not None,
    }
    if rules is None:
        return checks, []
    number, random, is_random = randomness(rules, proof)
    secret = unhex(proof["secret"], 32)
    checks["the round appears after the last entry"] = appears_after_entries(rules)
    if proof["changes"]:
        checks["each change of the round follows from its time"] = changes_follow(rules, proof["changes"])
    checks["the randomness is that of the awaited round"] = is_random
    is_committed = secret is not None and sha256(secret).hex() == rules["commitment"]
    checks["the secret is the one that the rules commit to"] = is_committed
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
    except (OSError, EOFError, zlib.error, ValueError, TypeError, AttributeError, RecursionError) as error:
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
