"""Buys and reserves with the client that openapi-python-client has generated. The arguments are the address of a shop, and a
token with which another shop reserves there."""

import sys

from seckill_client import AuthenticatedClient, Client
from seckill_client.api.accounts import register
from seckill_client.api.buying import buy, create_token
from seckill_client.api.orders import show_order
from seckill_client.api.other_shops import (
    confirm_reservation,
    create_reservation,
    name_shopper,
    release_reservation,
    show_reservation,
)
from seckill_client.api.sales import list_sales
from seckill_client.models import ConfirmBody, PurchaseBody, RegistrationBody, ReservationBody, ShopperBody

url, secret = sys.argv[1:]
client = Client(base_url=url, raise_on_unexpected_status=True)
user = register.sync(client=client, body=RegistrationBody(username="python", password="a client, all day long")).user
sale = next(sale for sale in list_sales.sync(client=client).sales if sale.phase == "open")
token = create_token.sync(sale.id, client=client).token
receipt = buy.sync(sale.id, client=client, body=PurchaseBody(quantity=1, token=token))
order = show_order.sync(sale.id, receipt.order.id, client=client).order
assert (order.sale_id, order.quantity) == (sale.id, 1), order
print(f"{user.username} bought {order.quantity} of sale {sale.id}: {order.status}")

program = AuthenticatedClient(base_url=url, token=secret, raise_on_unexpected_status=True)


def reserve(customer):
    """Holds a unit for a customer of the other shop."""
    shopper = name_shopper.sync(client=program, body=ShopperBody(id=customer)).shopper
    held = create_reservation.sync(sale.id, client=program, body=ReservationBody(shopper=shopper.id, quantity=1))
    assert (held.reservation.shopper, held.reservation.status) == (customer, "held"), held
    return held.reservation.id


kept, given_up = reserve("python-1"), reserve("python-2")
confirm_reservation.sync(sale.id, kept, client=program, body=ConfirmBody(reference="python order"))
release_reservation.sync(sale.id, given_up, client=program)
ends = [show_reservation.sync(sale.id, id, client=program).reservation for id in (kept, given_up)]
assert [(end.status, end.reference) for end in ends] == [("confirmed", "python order"), ("released", None)], ends
print(f"its reservations of sale {sale.id}: {', '.join(end.status for end in ends)}")
