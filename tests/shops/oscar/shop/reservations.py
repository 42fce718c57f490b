"""Reservations of a Seckill sale, for Oscar's checkout."""

import json
import logging
import time
import urllib.error
import urllib.request

from django.conf import settings
from django.utils import timezone

LOG = logging.getLogger(__name__)

# A request that was not answered may have been carried out, and all of them may be repeated. Few attempts: the transaction of
# the request waits for them. The customer may try again too.
TIMEOUT_S = 2
ATTEMPTS = 2
PAUSE_S = 0.2


class Refused(Exception):
    """The sale refuses, with a code."""


class Unknown(Exception):
    """There was no answer. The request may have been carried out, and may be repeated."""


def reserve(user, quantity):
    """The id of the customer's reservation. The same customer gets the same one again while it is held."""
    wanted = {"shopper": _shopper(user)["id"], "quantity": quantity}
    try:
        answer = _call(_path(), wanted)
    except Refused as refused:
        if str(refused) != "no_such_shopper":
            raise
        _call("/shoppers", _shopper(user))
        answer = _call(_path(), wanted)
    return answer["reservation"]["id"]


def confirm(reservation, reference):
    _call(f"{_path()}/{reservation}/confirm", {"reference": reference})


def tell_sold(user, number, quantity):
    """Tells what was sold. What was not told can be told later from the list of orders."""
    order = {"id": number, "shopper": _shopper(user)["id"], "quantity": quantity, "decided": "sold", "reference": number}
    try:
        _call(f"/sales/{settings.SALE}/decisions", {"decisions": [{**order, "at": timezone.now().isoformat()}]})
    except (Refused, Unknown):
        LOG.warning("order %s was not told", number)


def entry(user):
    """A token with which the customer's browser is known at the line."""
    return _call("/shoppers", _shopper(user))["entry_token"]


def _shopper(user):
    # How old an account is may count in a sale.
    return {"id": f"oscar-{user.pk}", "since": user.date_joined.isoformat()}


def _path():
    return f"/sales/{settings.SALE}/reservations"


def _call(path, body):
    request = urllib.request.Request(
        f"{settings.LINE}/api/v1{path}",
        data=json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {settings.TOKEN}", "Content-Type": "application/json"},
    )
    for attempt in range(ATTEMPTS):
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code != 429 and error.code < 500:
                raise Refused(json.load(error).get("code", str(error.code))) from error
        except (OSError, ValueError):
            pass
        if attempt + 1 < ATTEMPTS:
            time.sleep(PAUSE_S)
    raise Unknown
