"""A shop of one page, guarded by the line of a sale: uvicorn shop_asgi:app --port 3000"""

import os

from seckill_connector import AsgiGuard


async def shop(scope, receive, send):
    if scope["type"] != "http":
        return
    claims = scope["seckill.pass"]
    text = "The shop. Go to /buy\n"
    if scope["path"].startswith("/buy"):
        text = f"Hello {claims['sub']}, buy now!\n" if claims else "Nobody guards this page now.\n"
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"private, no-store")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})


app = AsgiGuard(
    shop,
    sale=os.environ["SALE"],
    line=os.environ["LINE"],
    secret=os.environ["SECRET"],
    protect=["/buy"],
    fail=os.environ.get("FAIL", "closed"),
    refresh=float(os.environ.get("REFRESH", 30)),
    secure=False,  # Behind https leave this out.
)
