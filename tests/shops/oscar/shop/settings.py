"""Oscar's settings for a shop of one product on SQLite. FOLDER, LINE, SALE, TOKEN and SECRET come from the environment."""

import os
import pathlib

from oscar.defaults import *  # noqa: F403

FOLDER = pathlib.Path(os.environ["FOLDER"])
LINE, SALE, TOKEN = os.environ["LINE"], os.environ["SALE"], os.environ["TOKEN"]
# In shadow mode the shop sells as always, and tells the sale afterwards what it has sold.
SHADOW = os.environ.get("SHADOW") == "on"
# Of the product that the sale sells.
SKU = "SHOE"

SECRET_KEY = os.environ["SECRET"]
ALLOWED_HOSTS = ["127.0.0.1"]
ROOT_URLCONF = "shop.urls"
SITE_ID = 1
USE_TZ = True
STATIC_URL = "/static/"
MEDIA_ROOT = str(FOLDER / "media")
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": FOLDER / "shop.sqlite",
        # An order and its payment are one transaction. It waits for others instead of failing when it first writes.
        "ATOMIC_REQUESTS": True,
        "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 60, "init_command": "PRAGMA journal_mode=WAL"},
    }
}
# Two hundred registrations within seconds; no password of anybody.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
AUTHENTICATION_BACKENDS = ["oscar.apps.customer.auth_backends.EmailBackend"]
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
HAYSTACK_CONNECTIONS = {"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}}
LOGGING = {"version": 1, "disable_existing_loggers": False, "root": {"level": "ERROR"}}

OSCAR_APPS = """
    oscar.config.Shop oscar.apps.analytics.apps.AnalyticsConfig shop.checkout.apps.CheckoutConfig
    oscar.apps.address.apps.AddressConfig oscar.apps.shipping.apps.ShippingConfig
    oscar.apps.catalogue.apps.CatalogueConfig oscar.apps.catalogue.reviews.apps.CatalogueReviewsConfig
    oscar.apps.communication.apps.CommunicationConfig oscar.apps.partner.apps.PartnerConfig
    oscar.apps.basket.apps.BasketConfig oscar.apps.payment.apps.PaymentConfig oscar.apps.offer.apps.OfferConfig
    oscar.apps.order.apps.OrderConfig oscar.apps.customer.apps.CustomerConfig oscar.apps.search.apps.SearchConfig
    oscar.apps.voucher.apps.VoucherConfig oscar.apps.wishlists.apps.WishlistsConfig
    oscar.apps.dashboard.apps.DashboardConfig oscar.apps.dashboard.reports.apps.ReportsDashboardConfig
    oscar.apps.dashboard.users.apps.UsersDashboardConfig oscar.apps.dashboard.orders.apps.OrdersDashboardConfig
    oscar.apps.dashboard.catalogue.apps.CatalogueDashboardConfig oscar.apps.dashboard.offers.apps.OffersDashboardConfig
    oscar.apps.dashboard.partners.apps.PartnersDashboardConfig oscar.apps.dashboard.pages.apps.PagesDashboardConfig
    oscar.apps.dashboard.ranges.apps.RangesDashboardConfig oscar.apps.dashboard.reviews.apps.ReviewsDashboardConfig
    oscar.apps.dashboard.vouchers.apps.VouchersDashboardConfig
    oscar.apps.dashboard.communications.apps.CommunicationsDashboardConfig
    oscar.apps.dashboard.shipping.apps.ShippingDashboardConfig
""".split()
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.sites",
    "django.contrib.flatpages",
    "django.contrib.staticfiles",
    *OSCAR_APPS,
    "widget_tweaks",
    "haystack",
    "treebeard",
    "django_tables2",
    "sorl.thumbnail",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "oscar.apps.basket.middleware.BasketMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "oscar.apps.search.context_processors.search_form",
                "oscar.apps.checkout.context_processors.checkout",
                "oscar.core.context_processors.metadata",
            ],
        },
    }
]
