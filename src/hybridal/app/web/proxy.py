"""A proxy in front: from where a request comes, whether by https, and who signed in there, as the proxy says."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from hybridal.errors import UserError

PROXIES_VARIABLE = "FORWARDED_ALLOW_IPS"  # as other servers in Python call it
EVERYBODY = "*"


class Proxies:
    """The addresses and networks of proxies. `*`: whoever connects is one, since nobody else can.

    >>> "10.1.2.3" in Proxies("127.0.0.1, 10.0.0.0/8"), "192.0.2.1" in Proxies("127.0.0.1"), "192.0.2.1" in Proxies("*")
    (True, False, True)
    """

    def __init__(self, named: str) -> None:
        self.everybody = named.strip() == EVERYBODY
        self.networks: list[IPv4Network | IPv6Network] = []
        for one in named.split(","):
            with suppress(ValueError):
                self.networks.append(ip_network(one.strip(), strict=False))

    @classmethod
    def of_environment(cls) -> Proxies:
        return cls(os.environ.get(PROXIES_VARIABLE) or "127.0.0.1,::1")

    def __contains__(self, host: str) -> bool:
        return self.everybody or self.knows(host)

    def knows(self, host: str) -> bool:
        """Whether this address was named."""
        try:
            address = ip_address(host)
        except ValueError:
            return False
        return any(address in network for network in self.networks)

    def origin(self, forwarded: str) -> str:
        """Where a request came from: each proxy adds at the right whom it heard, and what is left of the first that
        is no proxy anybody may have written.

        >>> Proxies("127.0.0.1, 10.0.0.0/8").origin("6.6.6.6, 192.0.2.7, 10.0.0.2")
        '192.0.2.7'
        >>> Proxies("*").origin("6.6.6.6, 192.0.2.7")
        '192.0.2.7'
        """
        hosts = [_without_port(one.strip()) for one in forwarded.split(",")]
        return next((host for host in reversed(hosts) if not self.knows(host)), hosts[0])


def _without_port(host: str) -> str:
    """Some proxies add it.

    >>> _without_port("192.0.2.7:4711"), _without_port("[2001:db8::1]:4711"), _without_port("2001:db8::1")
    ('192.0.2.7', '2001:db8::1', '2001:db8::1')
    """
    found = re.fullmatch(r"\[(.+)\](?::\d+)?|([^:]+):\d+", host)
    return (found[1] or found[2]) if found else host


def check_sign_in(header: str, behind_proxy: bool) -> None:
    """Refuses to believe a header that others than the proxy could send."""
    if not re.fullmatch(r"[A-Za-z0-9-]{1,100}", header):
        raise UserError(f"`sign_in_header`: '{header:.40}' is not the name of a header.", field="sign_in_header")
    if not behind_proxy:
        raise UserError(
            "`sign_in_header`: anybody could send it; put a proxy in front that signs people in, add `behind_proxy`.",
            field="sign_in_header",
        )
    if Proxies.of_environment().everybody:
        raise UserError(
            f"`sign_in_header`: while {PROXIES_VARIABLE} is *, anybody could send it; name the proxy's address there.",
            field="sign_in_header",
        )


class ProxyHeaders:
    """Tells the app inside what a proxy says. With a `sign_in_header`, it also tells whom that names, or nobody."""

    def __init__(self, app: ASGIApp, proxies: Proxies, sign_in_header: str | None = None) -> None:
        self.app = app
        self.proxies = proxies
        self.sign_in_header = sign_in_header

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            trusted = scope.get("client") is not None and scope["client"][0] in self.proxies
            if self.sign_in_header is not None:
                named = _values(scope, self.sign_in_header) if trusted else []
                # Sent twice, one of them is not the proxy's.
                scope.setdefault("state", {})["signed_in_as"] = named[0].strip() if len(named) == 1 else ""
            if trusted:
                self._take(scope)
        await self.app(scope, receive, send)

    def _take(self, scope: Scope) -> None:
        if (proto := _values(scope, "x-forwarded-proto")) and proto[-1].strip() in ("http", "https"):
            scope["scheme"] = proto[-1].strip()
        if (came := self.proxies.origin(", ".join(_values(scope, "x-forwarded-for")))) != "":
            scope["client"] = (came, 0)


def _values(scope: Scope, header: str) -> Sequence[str]:
    """As text: those who send names mean UTF-8."""
    return [value.decode(errors="replace") for name, value in scope["headers"] if name == header.lower().encode()]


def signed_in_as(request: Request) -> str | None:
    """Who signed in at the proxy, or an empty text for nobody; None where no proxy signs people in."""
    found: str | None = getattr(request.state, "signed_in_as", None)
    return found
