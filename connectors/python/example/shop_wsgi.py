"""A shop of one page, guarded by the line of a sale: python shop_wsgi.py"""

import os
from wsgiref.simple_server import make_server

from seckill_connector import WsgiGuard


def shop(environ, start_response):
    is_guarded = environ["PATH_INFO"].startswith("/buy")
    claims = environ["seckill.pass"]
    text = "The shop. Go to /buy\n"
    if is_guarded:
        text = f"Hello {claims['sub']}, buy now!\n" if claims else "Nobody guards this page now.\n"
    start_response("200 OK", [("Content-Type", "text/plain; charset=utf-8"), ("Cache-Control", "private, no-store")])
    return [text.encode()]


app = WsgiGuard(
    shop,
    sale=os.environ["SALE"],
    line=os.environ["LINE"],
    secret=os.environ["SECRET"],
    protect=["/buy"],
    fail=os.environ.get("FAIL", "closed"),
    refresh=float(os.environ.get("REFRESH", 30)),
    secure=False,  # Behind https leave this out.
)
if __name__ == "__main__":
    make_server("127.0.0.1", int(os.environ.get("PORT", 3000)), app).serve_forever()
