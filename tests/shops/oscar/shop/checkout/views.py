"""Oscar's checkout with units that are reserved at a Seckill sale before the payment, and confirmed with it."""

import threading

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from oscar.apps.checkout import views
from oscar.apps.checkout.exceptions import FailedPreCondition
from oscar.apps.payment.exceptions import PaymentError, UnableToTakePayment

from shop import reservations

WORDS = {
    "sold_out": "Everything is sold out.",
    "not_open": "The sale has not begun.",
    "ended": "The sale is over.",
    "reservation_released": "Your reservation is over.",
    "reservation_expired": "Your reservation has expired.",
}


def words(code):
    return WORDS.get(code, f"This cannot be sold to you now ({code}).")


class PaymentDetailsView(views.PaymentDetailsView):
    pre_conditions = [*views.PaymentDetailsView.pre_conditions, "check_units_are_reserved"]

    def check_units_are_reserved(self, request):
        """Reserves when the customer sees what is to be paid, not again when it is paid."""
        quantity = self.units(request.basket)
        if quantity == 0 or settings.SHADOW or request.POST.get("action") == "place_order":
            return
        try:
            reservation = reservations.reserve(request.user, quantity)
        except reservations.Refused as refused:
            raise FailedPreCondition(url=reverse("basket:summary"), message=words(str(refused))) from refused
        except reservations.Unknown as unknown:
            raise FailedPreCondition(url=reverse("basket:summary"), message="Please try again.") from unknown
        request.session["seckill_reservation"] = reservation

    def handle_payment(self, order_number, total, **kwargs):
        """Confirms the units. A real provider authorizes before, and captures or gives back after the answer."""
        quantity = self.units(self.request.basket)
        if quantity == 0:
            return
        if settings.SHADOW:
            told = (self.request.user, str(order_number), quantity)
            transaction.on_commit(lambda: threading.Thread(target=reservations.tell_sold, args=told).start())
            return
        try:
            reservations.confirm(self.request.session.get("seckill_reservation"), str(order_number))
        except reservations.Refused as refused:
            raise UnableToTakePayment(words(str(refused))) from refused
        except reservations.Unknown as unknown:
            raise PaymentError("no answer about the reservation") from unknown

    @staticmethod
    def units(basket):
        return sum(line.quantity for line in basket.all_lines() if line.stockrecord.partner_sku == settings.SKU)
