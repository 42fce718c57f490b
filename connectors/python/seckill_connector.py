"""Seckill's connector for Python: people with a pass of a sale go through, everybody else goes to the sale's line first.

From top to bottom: the verifier of a pass, the cookie in its place, passes that were used, the line's keys, addresses, and
the guard that puts them together, with its two faces for WSGI and ASGI.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import logging
import re
import threading
import time
import urllib.request
from collections import namedtuple
from typing import NamedTuple, Optional
from urllib.parse import quote, unquote, urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

MAX_PASS_CHARS = 4096
# Clocks of two servers differ.
LEEWAY_S = 30
MAX_USED = 100_000
MIN_SECRET_CHARS = 32
MAX_SAFE_INTEGER = 2**53 - 1
KEYS_TIMEOUT_S = 2
MAX_KEYS_BYTES = 65_536
# How soon keys are asked for again after they could not be had.
RETRY_S = 5
PARAMETER = "seckill_pass"
HOST = re.compile(r"([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]+)?", re.ASCII | re.IGNORECASE)
BACK_SOON = (
    '<!doctype html><html lang="zh"><meta charset="utf-8"><meta http-equiv="refresh" content="5">'
    '<title>503</title><p>马上回来。<p lang="en">Back in a moment.</html>'
)
LOG = logging.getLogger("seckill")


class Verdict(NamedTuple):
    """Either the claims of a pass, or why it is refused."""

    claims: Optional[dict] = None
    refused: Optional[str] = None


class _Refused(ValueError):
    pass


def verify_pass(token, *, keys, sale, issuer, now=None):
    """Verifies a pass without I/O. Whether it was used before is not asked here."""
    try:
        return Verdict(claims=_read_pass(token, keys, f"sale:{sale}", issuer, time.time() if now is None else now))
    except _Refused as refused:
        return Verdict(refused=str(refused))


def _read_pass(token, keys, audience, issuer, now):
    parts = token.split(".") if isinstance(token, str) and len(token) <= MAX_PASS_CHARS else []
    header = _read_json(parts[0]) if len(parts) == 3 else None
    signature = None if header is None else _read_base64(parts[2])
    _need(signature is not None, "malformed")
    _need(header.get("alg") == "EdDSA", "bad_algorithm")
    _need(header.get("typ") == "JWT" and "crit" not in header, "bad_header")
    # Keys come from the line alone. A key that the header brings along is not looked at.
    kid = header.get("kid")
    _need(isinstance(kid, str) and kid in keys, "unknown_key")
    try:
        keys[kid].verify(signature, f"{parts[0]}.{parts[1]}".encode())
    except InvalidSignature:
        raise _Refused("bad_signature") from None
    claims = _read_json(parts[1])
    _need(claims is not None, "malformed")
    for name in ("iss", "aud", "sub", "jti"):
        _need(isinstance(claims.get(name), str) and claims[name] != "", "bad_claims")
    _need(_is_integer(claims.get("iat")) and _is_integer(claims.get("exp")), "bad_claims")
    _need(claims.get("use") in ("once", "many"), "bad_claims")
    _need(claims["iss"] == issuer, "other_issuer")
    _need(claims["aud"] == audience, "other_sale")
    _need(claims["iat"] <= now + LEEWAY_S, "not_yet_valid")
    _need(claims["exp"] + LEEWAY_S > now, "expired")
    return claims


def _need(holds, refused):
    if not holds:
        raise _Refused(refused)


def read_keys(key_set):
    """The Ed25519 keys of a JSON Web Key Set, by `kid`, as `verify_pass` takes them. Others are left out."""
    return {
        key["kid"]: Ed25519PublicKey.from_public_bytes(_read_base64(key["x"]) or b"")
        for key in key_set["keys"]
        if (key.get("kty"), key.get("crv"), key.get("use", "sig")) == ("OKP", "Ed25519", "sig") and "kid" in key
    }


def _is_integer(value):
    return type(value) in (int, float) and abs(value) <= MAX_SAFE_INTEGER and value == int(value)


def _read_base64(text):
    """The bytes, if this is their only spelling."""
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), "-_", validate=True)
    except ValueError:
        return None
    return data if _base64(data) == text else None


def _base64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _read_json(part):
    """A JSON object, without names that occur twice: two readers may take different ones."""

    def once(pairs):
        fields = dict(pairs)
        _need(len(fields) == len(pairs), "a name occurs twice")
        return fields

    try:
        text = (_read_base64(part) or b"").decode()
        value = json.loads(text, object_pairs_hook=once, parse_constant=lambda name: _need(False, f"{name} is not JSON"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _mac(payload, secret):
    return hmac.new(secret.encode(), f"{PARAMETER}:{payload}".encode(), hashlib.sha256).digest()


def seal_cookie(payload, secret):
    """The cookie holds the claims of the pass as they came, and a MAC by the shop's secret."""
    return f"{payload}.{_base64(_mac(payload, secret))}"


def open_cookie(value, *, secret, sale, now):
    payload, _, mac = value.partition(".")
    if not hmac.compare_digest(_read_base64(mac) or b"", _mac(payload, secret)):
        return None
    claims = _read_json(payload)
    good = claims is not None and claims["aud"] == f"sale:{sale}" and claims["exp"] + LEEWAY_S > now
    return claims if good else None


class MemoryStore:
    """Passes that were used, in the memory of this process. Several processes need a store that they share: an object with
    the same `add`. If there are too many, the oldest is forgotten."""

    def __init__(self, most=MAX_USED):
        self._most = most
        self._used = {}
        self._lock = threading.Lock()

    def add(self, jti, until):
        """Whether `jti` is new. It is remembered until `until`, in seconds since 1970."""
        now = time.time()
        with self._lock:
            if self._used.get(jti, 0) > now:
                return False
            if len(self._used) >= self._most:
                self._used = {jti: until for jti, until in self._used.items() if until > now}
            if len(self._used) >= self._most:
                del self._used[next(iter(self._used))]
            self._used[jti] = until
            return True


class Keys:
    """The line's keys. Fetching them shows at the same time whether the line is there."""

    def __init__(self, url, refresh):
        self._url = url
        self._refresh = refresh
        self._due = 0.0
        self._lock = threading.Lock()
        self._known = None
        self.away = False

    def get(self, newest=False):
        """Waits for the first keys only: later ones are fetched while requests go on. `newest` waits for them too, for a
        pass whose key is not known, but they are not asked for more often."""
        if newest or self._known is None:
            self._fetch_if_due()
        elif time.monotonic() >= self._due and not self._lock.locked():
            threading.Thread(target=self._fetch_if_due, daemon=True).start()
        return self._known or {}

    def _fetch_if_due(self):
        with self._lock:
            if time.monotonic() < self._due:
                return
            try:
                with urllib.request.urlopen(self._url, timeout=KEYS_TIMEOUT_S) as answer:
                    self._known = read_keys(json.loads(answer.read(MAX_KEYS_BYTES)))
                if self.away:
                    LOG.warning("keys of the line are back (%s)", self._url)
                self.away = False
            except Exception as error:  # Whatever is wrong with them, there are no keys.
                if not self.away:
                    LOG.warning("no keys from %s: %s", self._url, error)
                self.away = True
            self._due = time.monotonic() + (min(RETRY_S, self._refresh) if self.away else self._refresh)


# `target` is as the browser sent it, before any decoding. `context` is what the option `entry` gets.
Request = namedtuple("Request", "method target host cookie referer context", defaults=[None])


class Answer(NamedTuple):
    """What the guard says to a request: if `status` is 0 it goes through, with the claims of its pass if it has one."""

    status: int = 0
    headers: tuple = ()
    body: str = ""
    claims: Optional[dict] = None


def _answer(status, *headers, body=""):
    # Answers of the connector concern one person, and an address may have a pass in it.
    return Answer(status, (("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer"), *headers), body)


def _read_target(target):
    """Path, query without passes, and the passes. Proxies may send a whole URL as the target."""
    if not target.startswith("/"):
        url = urlsplit(target)
        target = (url.path or "/") + (f"?{url.query}" if url.query else "")
    path, _, query = target.partition("#")[0].partition("?")
    passes, rest = [], []
    for pair in query.split("&") if query else []:
        name, _, value = pair.partition("=")
        if unquote(name) == PARAMETER:
            passes.append(unquote(value))
        else:
            rest.append(pair)
    # Browsers take `//host` and `/\\host` for another host's address.
    clean = "/" + path.lstrip("/\\") + ("?" + "&".join(rest) if rest else "")
    return path, passes, clean


def _spellings(path):
    """Both spellings that an application may see, with `..` as it stands and resolved, in one case and with one slash."""
    segments = [part for part in re.split(r"[/\\]+", unquote(path).lower()) if part not in ("", ".")]
    resolved = []
    for segment in segments:
        resolved = resolved[:-1] if segment == ".." else [*resolved, segment]
    return ["/" + "".join(f"{segment}/" for segment in parts) for parts in (segments, resolved)]


class Guard:
    """Decides about requests. The options are in README.md."""

    def __init__(self, *, sale, line, secret, protect=("/",), fail="closed", keys=None, issuer=None, origin=None,
                 secure=True, store=None, entry=None, refresh=30):
        self._line = line.rstrip("/")
        if not re.fullmatch("[0-9]+", str(sale)) or not urlsplit(self._line).netloc:
            raise ValueError("seckill: options sale and line are needed")
        if len(secret or "") < MIN_SECRET_CHARS:
            raise ValueError(f"seckill: secret needs {MIN_SECRET_CHARS} characters")
        if fail not in ("open", "closed"):
            raise ValueError("seckill: fail is 'open' or 'closed'")
        self._sale, self._secret, self._secure, self._open = sale, secret, secure, fail == "open"
        self._issuer, self._origin = issuer or self._line, origin and origin.rstrip("/")
        self._store, self._entry = MemoryStore() if store is None else store, entry
        self._prefixes = [_spellings(prefix)[0] for prefix in protect]
        self._keys = Keys(keys or f"{self._line}/.well-known/jwks.json", refresh)
        self._cookie = f"{'__Host-' if secure else ''}{PARAMETER}_{sale}"

    def look(self, request):
        """The answer, if it needs no I/O: the page is not guarded, or the request has the cookie."""
        path, passes, _ = _read_target(request.target)
        if not any(spelling.startswith(prefix) for spelling in _spellings(path) for prefix in self._prefixes):
            return Answer()
        held = self._held(request)
        return Answer(claims=held) if held and not passes else None

    def ask(self, request):
        """The answer to any other request. It may fetch keys and ask the store."""
        _, passes, clean = _read_target(request.target)
        if not passes:
            self._keys.get()
            refused = "away" if self._keys.away else "no_pass"
        else:
            claims, refused = self._check(passes[0]) if len(passes) == 1 else Verdict(refused="malformed")
            if claims:
                age = int(claims["exp"] + LEEWAY_S - time.time())
                cookie = f"{self._cookie}={seal_cookie(passes[0].split('.')[1], self._secret)}; Path=/; HttpOnly"
                cookie += f"; SameSite=Lax; Max-Age={age}{'; Secure' if self._secure else ''}"
                return _answer(303, ("Location", clean), ("Set-Cookie", cookie))
            if self._held(request):
                return _answer(303, ("Location", clean))
        if refused == "away":
            html = ("Content-Type", "text/html; charset=utf-8")
            return Answer() if self._open else _answer(503, html, ("Retry-After", "5"), body=BACK_SOON)
        return self._to_line(request, clean)

    def _held(self, request):
        pairs = (pair.partition("=") for pair in request.cookie.split(";"))
        values = (value.strip() for name, _, value in pairs if name.strip() == self._cookie)
        opened = (open_cookie(value, secret=self._secret, sale=self._sale, now=time.time()) for value in values)
        return next(filter(None, opened), None)

    def _check(self, token):
        asked = {"sale": self._sale, "issuer": self._issuer}
        verdict = verify_pass(token, keys=self._keys.get(), **asked)
        if verdict.refused == "unknown_key":
            verdict = verify_pass(token, keys=self._keys.get(newest=True), **asked)
        if verdict.refused == "unknown_key" and self._keys.away:
            return Verdict(refused="away")
        if verdict.refused == "other_issuer":
            # The signature holds, so this is a wrong setting and not an attack.
            LOG.warning("passes are not issued by %s: see the option issuer", self._issuer)
        if verdict.claims is None or verdict.claims["use"] == "many":
            return verdict
        try:
            is_new = self._store.add(verdict.claims["jti"], verdict.claims["exp"] + LEEWAY_S)
        except Exception as error:  # Stores are handed in, with errors of their own.
            LOG.warning("the store of used passes does not answer: %s", error)
            return verdict if self._open else Verdict(refused="away")
        return verdict if is_new else Verdict(refused="used")

    def _to_line(self, request, clean):
        if not self._origin and not HOST.fullmatch(request.host):
            plain = ("Content-Type", "text/plain; charset=utf-8")
            return _answer(400, plain, body="This is not an address of the shop.\n")
        origin = self._origin or f"{'https' if self._secure else 'http'}://{request.host}"
        # A form cannot be sent again by a redirect: its sender returns to the page with the form.
        back = request.referer if request.referer.startswith(f"{origin}/") else f"{origin}/"
        if request.method in ("GET", "HEAD"):
            back = origin + clean
        location = f"{self._line}/line/{self._sale}?return={quote(back, safe='')}"
        return _answer(303, ("Location", location + self._entry_of(request)))

    def _entry_of(self, request):
        """Customers who are signed in here need not sign in at the line."""
        try:
            entry = self._entry and self._entry(request.context)
        except Exception as error:  # The function is handed in, with errors of its own.
            LOG.warning("no entry for a customer: %s", error)
            entry = None
        return f"&entry={quote(entry, safe='')}" if entry else ""


class WsgiGuard:
    """WSGI middleware. The application finds the claims of the pass, or None, in `environ["seckill.pass"]`."""

    def __init__(self, app, **options):
        self._app, self._guard = app, Guard(**options)

    def __call__(self, environ, start_response):
        # The path comes decoded, and line breaks in it would be header lines.
        path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
        target = _target(path.encode("latin-1"), environ.get("QUERY_STRING", ""))
        fields = [environ.get(name, "") for name in ("HTTP_HOST", "HTTP_COOKIE", "HTTP_REFERER")]
        request = Request(environ["REQUEST_METHOD"], target, *fields, environ)
        answer = self._guard.look(request) or self._guard.ask(request)
        if answer.status == 0:
            environ["seckill.pass"] = answer.claims
            return self._app(environ, start_response)
        body = answer.body.encode()
        reason = {303: "See Other", 400: "Bad Request", 503: "Service Unavailable"}[answer.status]
        start_response(f"{answer.status} {reason}", [*answer.headers, ("Content-Length", str(len(body)))])
        return [body]


class AsgiGuard:
    """ASGI middleware. The application finds the claims of the pass, or None, in `scope["seckill.pass"]`."""

    def __init__(self, app, **options):
        self._app, self._guard = app, Guard(**options)

    async def __call__(self, scope, receive, send):
        if scope["type"] not in ("http", "websocket"):
            return await self._app(scope, receive, send)
        request = self._request(scope)
        answer = self._guard.look(request) or await asyncio.to_thread(self._guard.ask, request)
        if answer.status == 0:
            return await self._app({**scope, "seckill.pass": answer.claims}, receive, send)
        if scope["type"] == "websocket":
            return await send({"type": "websocket.close", "code": 1008})
        body = answer.body.encode()
        headers = [*answer.headers, ("Content-Length", str(len(body)))]
        lines = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
        await send({"type": "http.response.start", "status": answer.status, "headers": lines})
        await send({"type": "http.response.body", "body": body})

    def _request(self, scope):
        fields = {}
        for name, value in scope["headers"]:
            # Only cookies may come in several lines.
            text = value.decode("latin-1")
            fields[name] = f"{fields[name]}; {text}" if name == b"cookie" and name in fields else text
        path, query = scope.get("raw_path") or scope["path"].encode(), scope["query_string"].decode("latin-1")
        others = [fields.get(name, "") for name in (b"host", b"cookie", b"referer")]
        return Request(scope.get("method", "GET"), _target(path, query, safe="%"), *others, scope)


def _target(path, query, safe=""):
    return quote(path, safe="/:@!$&'()*+,;=~" + safe) + (f"?{query}" if query else "")
