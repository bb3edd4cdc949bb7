"""Which servers the app calls at an address that a user entered: those on the internet, never in its own network.

Webhooks and language models share this guard against server-side request forgery (SSRF). A name is resolved once; the
caller connects to the addresses that were checked (IP pinning), so that DNS cannot answer differently a second time.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from hybridal.errors import UserError

Address = IPv4Address | IPv6Address

PORTS = (80, 443, 8000, 8080, 8443)
"""Ports of web servers; others may be open to this machine alone, even at a public address."""

_NAT64 = IPv6Network("64:ff9b::/96")
# Addresses that only look public: Azure's metadata; 192.0.0.0/24, with Oracle's metadata; local NAT64; IPv4 written as
# IPv6.
_RESERVED = [ip_network(one) for one in ("168.63.129.16/32", "192.0.0.0/24", "64:ff9b:1::/48", "::/96")]


LONGEST_URL = 1000


def is_web_address(url: str) -> bool:
    """Whether it is an http or https address that every parser reads alike, without a password or a fragment.

    >>> [is_web_address(one) for one in ("https://example.org/hook?a=b", "http://me@example.org", "ftp://example.org")]
    [True, False, False]
    """
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna")
        _ = parts.port
    except ValueError:
        return False
    # urlsplit forgives blanks and line ends, and does not decode "%"; the HTTP client differs in both.
    plain = url.isascii() and url.isprintable() and " " not in url and not {"@", "%"} & {*parts.netloc}
    return bool(host) and plain and parts.scheme in ("http", "https") and not parts.fragment and len(url) <= LONGEST_URL


class UnknownHostError(UserError):
    """The name does not resolve, at least at the moment."""


def find_addresses(host: str, port: int, allowed: str, variable: str) -> list[str]:
    """Resolve a host to the addresses that may be called.

    Args:
        host: A name or an address, in any notation that the system resolves.
        port: The port that will be called.
        allowed: Names, addresses and networks that may be internal, separated by commas.
        variable: The environment variable with which the server's operator allows more; errors name it.

    Returns:
        All addresses of the host. Connect to one of them; do not resolve the host again.

    Raises:
        UnknownHostError: The name does not resolve.
        UserError: One of the addresses is internal, or the port is not a web server's, and not allowed.

    Example:
        >>> find_addresses("127.1", 80, "", "HYBRIDAL_WEBHOOK_HOSTS")
        Traceback (most recent call last):
        hybridal.errors.UserError: 127.1 leads to 127.0.0.1, which is in the app's own network; ...
        >>> find_addresses("127.1", 80, "10.0.0.0/8, 127.0.0.1", "HYBRIDAL_WEBHOOK_HOSTS")
        ['127.0.0.1']
    """
    try:
        found = [str(one[4][0]) for one in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError) as error:
        raise UnknownHostError(f"The name {host} is not known.") from error
    for one in found:
        address = ip_address(one.partition("%")[0])
        if _is_allowed(host, address, allowed):
            continue
        if not is_outside(address):
            what = f"{host} is" if host == str(address) else f"{host} leads to {address}, which is"
            raise UserError(f"{what} in the app's own network; the person who runs the app can allow it in {variable}.")
        if port not in PORTS:
            usual = ", ".join(map(str, PORTS))
            raise UserError(
                f"Port {port} of {host} is not called, only {usual}; the person who runs the app can allow it in "
                f"{variable}."
            )
    return found


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


def _is_allowed(host: str, address: Address, allowed: str) -> bool:
    names = {one.strip().lower() for one in allowed.split(",")}
    networks: list[IPv4Network | IPv6Network] = []
    for name in names:
        with suppress(ValueError):
            networks.append(ip_network(name, strict=False))
    return host.lower() in names or any(address in network for network in networks)
