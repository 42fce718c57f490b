"""An Oscar shop with one product of 50 units, on SQLite: python serve.py make, then python serve.py. FOLDER holds the shop."""

import contextlib
import os
import sqlite3
import sys
from http.cookies import SimpleCookie

import django
from seckill_connector import WsgiGuard
from waitress import serve

os.environ["DJANGO_SETTINGS_MODULE"] = "shop.settings"


def make():
    from django.core.management import call_command
    from oscar.core.loading import get_model

    call_command("migrate", verbosity=0)
    # Oscar does not count this stock: only reservations keep it from selling more.
    kind = get_model("catalogue", "ProductClass").objects.create(name="Shoes", requires_shipping=False, track_stock=False)
    shoe = get_model("catalogue", "Product").objects.create(title="Shoe", product_class=kind)
    partner = get_model("partner", "Partner").objects.create(name="Shop")
    partner.stockrecords.create(product=shoe, partner_sku="SHOE", price=99, num_in_stock=50)


def run():
    from django.core.wsgi import get_wsgi_application

    env = os.environ
    options = {"sale": env["SALE"], "line": env["LINE"], "secret": env["SECRET"], "fail": env.get("FAIL", "closed")}
    app = get_wsgi_application()
    # A sale may have no line.
    if env.get("GUARD") != "off":
        options = {**options, "protect": ["/basket", "/checkout"], "entry": entry, "store": UsedPasses()}
        app = WsgiGuard(app, **options, secure=False, refresh=1)
    serve(app, host="127.0.0.1", port=int(env["PORT"]), threads=8, connection_limit=1000)


class UsedPasses:
    """Passes that were used, in a file, so that a shop that is killed remembers them."""

    def __init__(self):
        self._path = os.path.join(os.environ["FOLDER"], "passes.sqlite")
        with contextlib.closing(sqlite3.connect(self._path)) as file:
            file.execute("CREATE TABLE IF NOT EXISTS passes (jti TEXT PRIMARY KEY, until INTEGER)")

    def add(self, jti, until):
        with contextlib.closing(sqlite3.connect(self._path, timeout=10)) as file, file:
            return file.execute("INSERT OR IGNORE INTO passes VALUES (?, ?)", (jti, until)).rowcount == 1


def entry(environ):
    """The line learns who is signed in here."""
    from django.contrib.auth import get_user
    from django.contrib.sessions.backends.db import SessionStore
    from django.http import HttpRequest
    from shop import reservations

    cookie = SimpleCookie(environ.get("HTTP_COOKIE", "")).get("sessionid")
    request = HttpRequest()
    request.session = SessionStore(cookie and cookie.value)
    user = get_user(request)
    return reservations.entry(user) if user.is_authenticated else None


django.setup()
make() if sys.argv[1:] == ["make"] else run()
