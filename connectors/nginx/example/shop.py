"""A shop of one page, without any knowledge of lines: python3 shop.py 3000"""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Shop(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        customer = self.headers.get("X-Pass-Sub")
        is_guarded = self.path.lower().startswith("/buy")
        text = "Nobody guards this page now.\n" if is_guarded else "The shop. Go to /buy\n"
        if customer:
            text = f"Hello {customer}, buy now!\n"
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Shop).serve_forever()
