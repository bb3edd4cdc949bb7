"""Headers of a reverse proxy: the client's address, the scheme, and the name of the person it has signed in."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from hybridal.errors import UserError

PROXIES_VARIABLE = "FORWARDED_ALLOW_IPS"  # the name that uvicorn and gunicorn use
ANY_ADDRESS = "*"


class Proxies:
    """The addresses and networks of trusted proxies. `*` trusts every client: only the proxy can reach the app.

    >>> "10.1.2.3" in Proxies("127.0.0.1, 10.0.0.0/8"), "192.0.2.1" in Proxies("127.0.0.1"), "192.0.2.1" in Proxies("*")
    (True, False, True)
    """

    def __init__(self, named: str) -> None:
        self.trusts_all = named.strip() == ANY_ADDRESS
        self.networks: list[IPv4Network | IPv6Network] = []
        for one in named.split(","):
            with suppress(ValueError):
                self.networks.append(ip_network(one.strip(), strict=False))

    @classmethod
    def of_environment(cls) -> Proxies:
        return cls(os.environ.get(PROXIES_VARIABLE) or "127.0.0.1,::1")

    def __contains__(self, host: str) -> bool:
        return self.trusts_all or self.lists(host)

    def lists(self, host: str) -> bool:
        """Whether this address is listed."""
        try:
            address = ip_address(host)
        except ValueError:
            return False
        return any(address in network for network in self.networks)

    def client_address(self, forwarded: str) -> str:
        """The client's address in an X-Forwarded-For header.

        Each proxy appends the address that connected to it, so the last address that is not a proxy is the client's.
        Those before it may be forged.
        >>> Proxies("127.0.0.1, 10.0.0.0/8").client_address("6.6.6.6, 192.0.2.7, 10.0.0.2")
        '192.0.2.7'
        >>> Proxies("*").client_address("6.6.6.6, 192.0.2.7")
        '192.0.2.7'
        """
        hosts = [_without_port(one.strip()) for one in forwarded.split(",")]
        return next((host for host in reversed(hosts) if not self.lists(host)), hosts[0])


def _without_port(host: str) -> str:
    """Remove the port, which some proxies append.

    >>> _without_port("192.0.2.7:4711"), _without_port("[2001:db8::1]:4711"), _without_port("2001:db8::1")
    ('192.0.2.7', '2001:db8::1', '2001:db8::1')
    """
    found = re.fullmatch(r"\[(.+)\](?::\d+)?|([^:]+):\d+", host)
    return (found[1] or found[2]) if found else host


def check_sign_in(header: str, behind_proxy: bool) -> None:
    """Raise if others than the proxy could send the sign-in header."""
    if not re.fullmatch(r"[A-Za-z0-9-]{1,100}", header):
        raise UserError(f"`sign_in_header`: '{header:.40}' is not the name of a header.", field="sign_in_header")
    if not behind_proxy:
        raise UserError(
            "`sign_in_header`: any client could forge this header. Run the app behind a proxy that signs people in, "
            "and add `behind_proxy`.",
            field="sign_in_header",
        )
    if Proxies.of_environment().trusts_all:
        raise UserError(
            f"`sign_in_header`: any client could forge this header while {PROXIES_VARIABLE} is *. Set it to "
            "the proxy's address.",
            field="sign_in_header",
        )


class ProxyHeaders:
    """Apply the headers of a trusted proxy to the request's scope.

    With a `sign_in_header`, sets `signed_in_as` to the name in that header, or to an empty text.
    """

    def __init__(self, app: ASGIApp, proxies: Proxies, sign_in_header: str | None = None) -> None:
        self.app = app
        self.proxies = proxies
        self.sign_in_header = sign_in_header

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            trusted = scope.get("client") is not None and scope["client"][0] in self.proxies
            if self.sign_in_header is not None:
                names = _values(scope, self.sign_in_header) if trusted else []
                # If there are two, one of them is not the proxy's.
                scope.setdefault("state", {})["signed_in_as"] = names[0].strip() if len(names) == 1 else ""
            if trusted:
                self._apply_forwarded(scope)
        await self.app(scope, receive, send)

    def _apply_forwarded(self, scope: Scope) -> None:
        if (proto := _values(scope, "x-forwarded-proto")) and proto[-1].strip() in ("http", "https"):
            scope["scheme"] = proto[-1].strip()
        if (address := self.proxies.client_address(", ".join(_values(scope, "x-forwarded-for")))) != "":
            scope["client"] = (address, 0)


def _values(scope: Scope, header: str) -> Sequence[str]:
    """The values of a header, decoded as UTF-8, which proxies use for names."""
    return [value.decode(errors="replace") for name, value in scope["headers"] if name == header.lower().encode()]


def signed_in_as(request: Request) -> str | None:
    """The name of the person that the proxy signed in, "" if there is none; None if the app itself signs people in."""
    found: str | None = getattr(request.state, "signed_in_as", None)
    return found
