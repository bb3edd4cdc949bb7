from __future__ import annotations

from ipaddress import ip_address

import pytest

from hybridal.system.outgoing import UnknownHostError, find_addresses, is_outside

INSIDE = [
    *("127.0.0.1", "127.8.8.8", "0.0.0.0", "10.0.0.1", "172.16.5.4", "192.168.1.1", "100.64.0.1", "255.255.255.255"),
    *("192.0.0.1", "192.0.0.9", "192.0.0.192"),
    *("169.254.169.254", "100.100.100.200", "168.63.129.16", "224.0.0.1", "240.0.0.1"),
    *("::1", "::", "fe80::1", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1"),
    # Ways to write an address of the old kind as one of the new.
    *("::ffff:10.0.0.1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2001:0:4136:e378:8000:63bf:3fff:fdd2"),
    *("64:ff9b:1::808:808", "64:ff9b:1:ffff::1", "::8.8.8.8", "::127.0.0.1"),
]


@pytest.mark.parametrize("address", INSIDE)
def test_internal_addresses_are_recognised_in_every_notation(address: str) -> None:
    assert not is_outside(ip_address(address))


@pytest.mark.parametrize(
    "address", ["93.184.215.14", "192.0.1.1", "2606:2800:21f:cb07::1", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_servers_of_the_internet_are_outside(address: str) -> None:
    assert is_outside(ip_address(address))


def test_unknown_host_name_has_its_own_error() -> None:
    with pytest.raises(UnknownHostError, match=r"The name nowhere\.invalid is not known"):
        find_addresses("nowhere.invalid", 443, "", "ALLOWED")
