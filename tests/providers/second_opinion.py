"""A second opinion about the stand-in for WeChat Pay, which is written with a client for Node: `wechatpayv3`, a client for
Python, charges, asks, closes and refunds there, and reads its notices. So neither the shop nor the stand-in is right only in
the eyes of the other."""

import itertools
import json
import subprocess
import tempfile
import time
from pathlib import Path

from wechatpayv3 import WeChatPay, WeChatPayType

HERE = Path(__file__).parent
MCHID, APPID, SERIAL, V3_KEY = "1900000001", "wx0123456789abcdef", "1DDE55AD98ED71D6", "0123456789abcdef0123456789abcdef"
KEY = (HERE / "keys/merchant.key").read_text()
NOTIFY = "https://shop.example/api/webhooks/payments/wechatpay"
numbers = (f"SECOND{number:06}" for number in itertools.count())


class StandIn:
    def __init__(self):
        script = ["node", HERE / "wechatpay.mjs", MCHID, APPID, SERIAL, V3_KEY]
        self.process = subprocess.Popen(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def ask(self, do, **command):
        print(json.dumps({"do": do, **command}), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def notice(self, event, **how):
        """The headers and body of a notice, as the merchant's server gets them."""
        told = self.ask("sign", event=event, at=int(time.time()), **how)
        return told["headers"], told["body"]


class Client(WeChatPay):
    """Speaks to the stand-in, and fetches the certificates from there."""

    def __init__(self, port, folder):
        # The client fetches certificates at once, from its own address; one in the folder keeps it from that.
        (Path(folder) / "platform.pem").write_text((HERE / "keys/platform_a.pem").read_text())
        super().__init__(WeChatPayType.NATIVE, MCHID, KEY, SERIAL, APPID, V3_KEY, NOTIFY, folder)
        self._core._gate_way = f"http://127.0.0.1:{port}"

    def told(self, answer, status=200):
        assert answer[0] == status, answer
        return json.loads(answer[1]) if answer[1] else None

    def charge(self, amount):
        number = next(numbers)
        ends = time.strftime("%Y-%m-%dT%H:%M:%S+08:00", time.gmtime(time.time() + 8 * 3600 + 1800))
        answer = self.pay("A phone", number, {"total": amount, "currency": "CNY"}, time_expire=ends, attach="1")
        assert self.told(answer)["code_url"].startswith("weixin://"), answer
        return number

    def give_back(self, number, amount, total):
        amounts = {"refund": amount, "total": total, "currency": "CNY"}
        return self.told(self.refund(f"{number}-{amount}", amounts, out_trade_no=number, notify_url=NOTIFY))


def main():
    stand_in = StandIn()
    with tempfile.TemporaryDirectory() as folder:
        client = Client(stand_in.port, folder)
        paid = client.charge(1999)
        assert client.told(client.query(out_trade_no=paid))["trade_state"] == "NOTPAY"
        [event] = stand_in.ask("pay", payment=paid)["events"]
        told = client.callback(*stand_in.notice(event))["resource"]
        assert (told["out_trade_no"], told["trade_state"], told["amount"]["total"]) == (paid, "SUCCESS", 1999), told
        assert client.callback(*stand_in.notice(event, by="merchant")) is None, "a notice with a wrong signature is read"
        assert client.told(client.query(out_trade_no=paid))["transaction_id"] == told["transaction_id"]

        assert client.give_back(paid, 500, 1999)["status"] == "SUCCESS"
        [event] = stand_in.ask("finish", status="SUCCESS")["events"]
        told = client.callback(*stand_in.notice(event))["resource"]
        assert (told["refund_status"], told["amount"]["refund"]) == ("SUCCESS", 500), told

        closed = client.charge(100)
        client.told(client.close(closed), 204)
        assert client.told(client.query(out_trade_no=closed))["trade_state"] == "CLOSED"
        assert client.close(paid)[0] == 400, "a paid order is closed"

        # The platform signs with another certificate from now on, which the client has to fetch.
        stand_in.ask("rotate")
        assert client.told(client.query(out_trade_no=paid))["trade_state"] == "REFUND"
        day = time.strftime("%Y-%m-%d", time.gmtime(time.time() + 8 * 3600))
        assert client.told(client.trade_bill(day))["hash_type"] == "SHA1"
    stand_in.process.stdin.close()
    assert stand_in.process.wait() == 0
    print("the clients for Node and Python agree about WeChat Pay")


main()
