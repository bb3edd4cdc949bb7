"""Where a webhook may lead: a server outside, or one inside that whoever runs the app has named."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from hybridal.errors import UserError

HOSTS_VARIABLE = "HYBRIDAL_WEBHOOK_HOSTS"
"""Names, addresses and networks that may be inside, with commas between them."""

LONGEST_URL = 1000
_NAT64 = IPv6Network("64:ff9b::/96")
# What looks like any other server's address: Azure's metadata; what a network keeps for its own protocols (metadata of
# Oracle's cloud among them), and for its own translation of old addresses; old ones written as new ones.
_RESERVED = [ip_network(one) for one in ("168.63.129.16/32", "192.0.0.0/24", "64:ff9b:1::/48", "::/96")]

Address = IPv4Address | IPv6Address


def check_url(url: str) -> str:
    """An address to which something can be posted. Where it leads is looked up each time that it is called.

    >>> check_url("https://example.org/hook?for=labels")
    'https://example.org/hook?for=labels'
    """
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna")
        _ = parts.port
    except ValueError:
        host = b""
    plain = url.isascii() and url.isprintable() and " " not in url and "@" not in parts.netloc if host else False
    if not plain or parts.scheme not in ("http", "https") or parts.fragment or len(url) > LONGEST_URL:
        raise UserError(f"'{url:.100}' is not an address that can be called; write it like https://host/path.")
    return url


def is_outside(address: Address) -> bool:
    """Whether it is a server's address on the internet, and not on this machine or in its network.

    >>> [is_outside(ip_address(one)) for one in ("192.0.43.7", "10.1.2.3", "169.254.169.254", "::ffff:127.0.0.1")]
    [True, False, False, False]
    """
    if isinstance(address, IPv6Address):
        if address in _NAT64:
            return is_outside(IPv4Address(int(address) & 0xFFFFFFFF))
        if address.is_site_local or address.sixtofour or address.teredo:
            return False
        if address.ipv4_mapped:
            return is_outside(address.ipv4_mapped)
    return address.is_global and not address.is_multicast and not any(address in network for network in _RESERVED)


def find_addresses(host: str, port: int) -> list[str]:
    """Where to call a host: what its name leads to now, if all of that is outside or may be called anyway."""
    try:
        found = [str(one[4][0]) for one in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError) as error:
        raise UserError(f"The name {host} is not known.") from error
    for one in found:
        address = ip_address(one.partition("%")[0])
        if not is_outside(address) and not _is_allowed(host, address, os.environ.get(HOSTS_VARIABLE, "").split(",")):
            what = f"{host} is" if host == str(address) else f"{host} leads to {address}, which is"
            raise UserError(f"{what} in the app's own network; who runs the app can allow it in {HOSTS_VARIABLE}.")
    return found


def _is_allowed(host: str, address: Address, allowed: Sequence[str]) -> bool:
    names = {one.strip().lower() for one in allowed}
    networks: list[IPv4Network | IPv6Network] = []
    for name in names:
        with suppress(ValueError):
            networks.append(ip_network(name, strict=False))
    return host.lower() in names or any(address in network for network in networks)
