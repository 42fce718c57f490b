"""Buys a unit with the client that openapi-python-client has generated. The argument is the address of a shop."""

import sys

from seckill_client import Client
from seckill_client.api.accounts import register
from seckill_client.api.buying import buy, create_token
from seckill_client.api.orders import show_order
from seckill_client.api.sales import list_sales
from seckill_client.models import PurchaseBody, RegistrationBody

client = Client(base_url=sys.argv[1], raise_on_unexpected_status=True)
user = register.sync(client=client, body=RegistrationBody(username="python", password="a client, all day long")).user
sale = next(sale for sale in list_sales.sync(client=client).sales if sale.phase == "open")
token = create_token.sync(sale.id, client=client).token
receipt = buy.sync(sale.id, client=client, body=PurchaseBody(quantity=1, token=token))
order = show_order.sync(sale.id, receipt.order.id, client=client).order
assert (order.sale_id, order.quantity) == (sale.id, 1), order
print(f"{user.username} bought {order.quantity} of sale {sale.id}: {order.status}")
