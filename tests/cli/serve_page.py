"""Opens pages of smdebug serve in a browser."""

from __future__ import annotations

from served import until


class Address:
    """An address that a browser can open, as a path."""

    def __init__(self, url):
        self.url = url

    def as_uri(self):
        return self.url


def open_page(browser, served, route="", ready="tbody tr[data-id]", **options):
    """Opens the page with the token in its address, then a part of it."""
    browser.open(Address("about:blank"))
    browser.open(Address(served.address(route)), **options)
    until(lambda: browser.run("return document.querySelectorAll(arguments[0]).length", ready))
    return browser


def open_runs(browser, served, *names, ready="#curves svg .curve", **options):
    ids = ",".join(served.id_of(name) for name in names)
    return open_page(browser, served, f"runs/{ids}", ready, **options)
