"""The connector for Python: every pass and cookie of ../vectors.json, and options that the example pages do not have."""

import asyncio
import base64
import json
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: E402
from seckill_connector import (  # noqa: E402
    AsgiGuard,
    Guard,
    MemoryStore,
    Request,
    open_cookie,
    read_keys,
    seal_cookie,
    verify_pass,
)

VECTORS = json.loads((ROOT / "vectors.json").read_text())
SALE = VECTORS["sale"]


class Vectors(unittest.TestCase):
    def test_passes(self):
        keys = {"now": read_keys(VECTORS["keys"]), "earlier": read_keys(VECTORS["earlier_keys"])}
        for vector in VECTORS["passes"]:
            with self.subTest(vector["name"]):
                now = vector.get("now", VECTORS["now"])
                which = keys[vector.get("keys", "now")]
                claims, refused = verify_pass(vector["pass"], keys=which, sale=SALE, issuer=VECTORS["issuer"], now=now)
                self.assertEqual(refused or "ok", vector["verdict"])
                self.assertEqual(claims is None, vector["verdict"] != "ok")

    def test_cookies(self):
        for vector in VECTORS["cookies"]:
            with self.subTest(vector["name"]):
                now = vector.get("now", VECTORS["now"])
                claims = open_cookie(vector["cookie"], secret=VECTORS["cookie_secret"], sale=SALE, now=now)
                self.assertEqual(claims is not None, vector["holds"])

    def test_used_passes_are_remembered_as_long_as_there_is_room(self):
        store = MemoryStore(2)
        far = 10**11
        self.assertTrue(store.add("a", far))
        self.assertFalse(store.add("a", far))
        self.assertTrue(store.add("ended", 1))
        self.assertTrue(store.add("c", far), "what has ended gives its room")
        self.assertFalse(store.add("a", far))
        self.assertTrue(store.add("d", far), "the oldest gives its room")
        self.assertFalse(store.add("d", far))


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class AwayStore:
    def add(self, jti, until):
        raise OSError("away")


class Options(unittest.TestCase):
    options = {"sale": 7, "line": VECTORS["issuer"], "secret": VECTORS["cookie_secret"]}

    def guard(self, **options):
        # Keys that are not fetched: their time never comes.
        guard = Guard(**{**self.options, **options})
        guard._keys._known, guard._keys._due = read_keys(VECTORS["keys"]), float("inf")
        return guard

    def good_pass(self, **change):
        key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(VECTORS["secret_keys_for_tests_only"]["test-1"]))
        claims = {"iss": VECTORS["issuer"], "aud": "sale:7", "sub": "4711", "iat": 0, "exp": 10**10, "jti": "x"}
        parts = [{"alg": "EdDSA", "typ": "JWT", "kid": "test-1"}, {**claims, "use": "once", **change}]
        text = ".".join(base64url(json.dumps(part).encode()) for part in parts)
        return f"{text}.{base64url(key.sign(text.encode()))}"

    def request(self, target, host="evil.example", cookie=""):
        return Request("GET", target, host, cookie, "")

    def test_behind_https_the_cookie_is_bound_to_the_host(self):
        guard = self.guard(origin="https://shop.example/")
        answer = guard.ask(self.request("/a?b=1"))
        line = f"{VECTORS['issuer']}/line/7?return=https%3A%2F%2Fshop.example%2Fa%3Fb%3D1"
        self.assertEqual(dict(answer.headers)["Location"], line)
        answer = guard.ask(self.request(f"/?seckill_pass={self.good_pass()}"))
        cookie = dict(answer.headers)["Set-Cookie"]
        self.assertRegex(cookie, r"^__Host-seckill_pass_7=\S+; Path=/; HttpOnly; SameSite=Lax; Max-Age=[0-9]+; Secure$")
        self.assertEqual(guard.look(self.request("/", cookie=cookie.split(";")[0])).claims["sub"], "4711")

    def test_a_customer_who_is_signed_in_here_takes_an_entry_along(self):
        def location(entry, customer):
            request = Request("GET", "/", "shop.example", "", "", customer)
            return dict(self.guard(entry=entry).ask(request).headers)["Location"]

        self.assertRegex(location(lambda customer: f"entry of {customer}", "4711"), "%2F&entry=entry%20of%204711$")
        self.assertRegex(location(lambda customer: None, "4711"), "%2F$")
        with self.assertLogs("seckill"):
            self.assertRegex(location(lambda customer: customer.away, "4711"), "%2F$")

    def test_a_store_that_does_not_answer_fails_as_the_guard_does(self):
        request = self.request(f"/?seckill_pass={self.good_pass()}")
        with self.assertLogs("seckill"):
            self.assertEqual(self.guard(store=AwayStore(), fail="open").ask(request).status, 303)
            self.assertEqual(self.guard(store=AwayStore()).ask(request).status, 503)

    def test_wrong_options_are_refused_at_the_start(self):
        for wrong in ({"secret": "short"}, {"secret": None}, {"sale": "seven"}, {"line": "line"}, {"fail": "maybe"}):
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, "^seckill: "):
                Guard(**{**self.options, **wrong})

    def test_a_websocket_without_a_pass_is_closed(self):
        sent, seen = [], []

        async def app(scope, receive, send):
            seen.append(scope["seckill.pass"]["sub"])

        async def send(message):
            sent.append(message)

        guard = AsgiGuard(app, **self.options)
        guard._guard = self.guard()
        scope = {"type": "websocket", "path": "/", "query_string": b"", "headers": []}
        asyncio.run(guard(scope, None, send))
        self.assertEqual(sent, [{"type": "websocket.close", "code": 1008}])
        payload = self.good_pass().split(".")[1]
        cookie = f"__Host-seckill_pass_7={seal_cookie(payload, VECTORS['cookie_secret'])}"
        # HTTP/2 may send cookies in several lines.
        headers = [(b"cookie", b"a=b"), (b"cookie", cookie.encode())]
        asyncio.run(guard({**scope, "headers": headers}, None, send))
        self.assertEqual(seen, ["4711"])


if __name__ == "__main__":
    unittest.main()
