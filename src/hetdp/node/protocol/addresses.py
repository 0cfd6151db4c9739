"""What an address says about where a peer is: on this machine, on this network, in the world; and whose host it is.

A record that travels by gossip may name an IP address only: a name would have to be looked up, by a server that the
sender of the record chose. And it may not send a node into networks that only the node itself can reach.
"""

import ipaddress
import math
import re
from functools import lru_cache

from hetdp.core.errors import InvalidInput

_ADDRESS = re.compile(r"tcp://(\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]{1,253}):([0-9]{1,5})")
_Ip = ipaddress.IPv4Address | ipaddress.IPv6Address

#: Who has one IPv6 address has all that share its first 64 bits.
_ONE_HOST_BITS = 64
#: Neither public nor private by the book: carriers and virtual private networks give them out.
_SHARED = ipaddress.ip_network("100.64.0.0/10")


@lru_cache(maxsize=4096)
def split_address(address: str) -> tuple[str, int]:
    """Return host and port of "tcp://host:port", or refuse it."""
    found = _ADDRESS.fullmatch(address)
    if found is None or not 1 <= int(found[2]) <= 65535:  # noqa: PLR2004  (the largest port)
        raise InvalidInput("an address must be tcp://host:port", got=address[:100])
    return found[1], int(found[2])


@lru_cache(maxsize=4096)
def address_kind(address: str) -> str:
    """Return "public", "private", "link-local", "loopback", "name", or "nowhere" for what nobody can be reached at."""
    ip = _ip(split_address(address)[0])
    if ip is None:
        return "name"
    if ip.is_loopback:
        return "loopback"
    tunnel = getattr(ip, "sixtofour", None) or getattr(ip, "teredo", None)  # could lead to any address, also inside
    if tunnel or ip.is_unspecified or ip.is_multicast or ip.is_reserved:
        return "nowhere"
    if ip.is_link_local:
        return "link-local"
    if ip.is_private or (ip.version == _SHARED.version and ip in _SHARED):
        return "private"
    return "public" if ip.is_global else "nowhere"


@lru_cache(maxsize=4096)
def endpoint_of(address: str) -> tuple[str, int]:
    """Return host and port of an address, the same however they are spelled."""
    host, port = split_address(address)
    ip = _ip(host)
    return host.lower() if ip is None else str(ip), port


@lru_cache(maxsize=4096)
def host_of(address: str) -> str:
    """Return the host of an address, the same however it is spelled; IPv6 addresses of one /64 are one host."""
    host = split_address(address)[0]
    ip = _ip(host)
    if ip is None:
        return host.lower()
    if ip.version == _SHARED.version:
        return str(ip)
    return str(ipaddress.ip_network((int(ip), _ONE_HOST_BITS), strict=False))


def most_at_host(address: str, own_address: str, most_per_host: int) -> float:
    """Return how many peers may be at the host of an address: any number on loopback, for a node that is there too.

    Elsewhere it is `most_per_host`, where 0 stands for any number.
    """
    near = address_kind(address) == "loopback" and bool(own_address) and address_kind(own_address) == "loopback"
    return math.inf if near or not most_per_host else most_per_host


def near_host(own_address: str) -> str:
    """Return the host that a node on loopback shares with others of its machine; none for a node anywhere else."""
    return host_of(own_address) if own_address and address_kind(own_address) == "loopback" else ""


def check_own_address(address: str) -> str:
    """Return the kind of the address that a node tells others, or refuse one that they would not believe."""
    kind = address_kind(address)
    if kind in ("name", "nowhere"):
        raise InvalidInput(
            "advertise (or listen) must be tcp://IP:port with an IP address that others can reach; names are "
            "for [[bootstrap]] only",
            got=address[:100],
        )
    return kind


def _ip(host: str) -> _Ip | None:
    """Return the IP address that a host is; None for a name. An IPv4 address in IPv6 clothes counts as that."""
    try:
        ip = ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None
    return getattr(ip, "ipv4_mapped", None) or ip
