"""One signed request in the format of Standard Webhooks, to a checked address and without redirects."""

from __future__ import annotations

import hmac
import socket
import ssl
import threading
from base64 import b64decode, b64encode
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from secrets import token_bytes
from urllib.parse import urlsplit

from hybridal import __version__
from hybridal.app.webhooks.address import find_addresses
from hybridal.errors import UserError

PREFIX = "whsec_"
SECONDS = 10.0  # for a whole request, however slowly it is answered


def draw_secret() -> str:
    """Draw a signing secret; the receiving server verifies messages with it."""
    return PREFIX + b64encode(token_bytes(32)).decode()


def sign(secret: str, id: str, timestamp: int, body: bytes) -> str:
    """Sign a message with its id and its time.

    >>> sign("whsec_c2VjcmV0", "m1", 1700000000, b"{}")
    'v1,6a2BS7tv4ywWskEzv65tBIvuQ6lMqhUAxIXRZuEx1t4='
    """
    key = b64decode(secret.removeprefix(PREFIX))
    return "v1," + b64encode(hmac.digest(key, f"{id}.{timestamp}.".encode() + body, "sha256")).decode()


def headers(secret: str, id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Build the HTTP headers of a message."""
    return {
        "Content-Type": "application/json",
        "User-Agent": f"hybridal/{__version__}",
        "webhook-id": id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(secret, id, timestamp, body),
    }


class CheckedConnection(HTTPConnection):
    """Connects to the checked address, since a second DNS lookup might return another one."""

    def __init__(self, host: str, port: int, secure: bool) -> None:
        super().__init__(host, port, timeout=SECONDS)
        self.secure = secure
        self.late = False

    def connect(self) -> None:
        addresses = find_addresses(self.host, self.port)
        for at, address in enumerate(addresses, 1):
            try:
                self.sock = socket.create_connection((address, self.port), self.timeout)
                break
            except OSError:
                if at == len(addresses) or self.late:
                    raise
        self._in_time()
        if self.secure:
            self.sock = ssl.create_default_context().wrap_socket(self.sock, server_hostname=self.host)
            self._in_time()

    def _in_time(self) -> None:
        """Give up if `end` was called before there was a socket to close."""
        if self.late:
            raise TimeoutError

    def end(self) -> None:
        """Shut the socket down, which ends a blocking read."""
        self.late = True
        if self.sock is not None:
            with suppress(OSError):
                self.sock.shutdown(socket.SHUT_RDWR)


def post(url: str, headers: Mapping[str, str], body: bytes) -> int:
    """Post a message and return the HTTP status; the body of the answer is not read.

    Raises:
        UserError: There was no answer; the sentence says why.
    """
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    connection = CheckedConnection(parts.hostname or "", parts.port or (443 if secure else 80), secure)
    # A socket timeout alone would not stop a server that sends a byte now and then.
    limit = threading.Timer(SECONDS, connection.end)
    limit.start()
    try:
        connection.request("POST", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), body, {**headers})
        return connection.getresponse().status
    except ssl.SSLCertVerificationError as error:
        raise UserError(f"Its certificate is not valid ({error.verify_message}).") from error
    except (OSError, HTTPException) as error:
        late = isinstance(error, TimeoutError) or connection.late
        why = f"within {SECONDS:g} seconds" if late else f"({getattr(error, 'strerror', None) or type(error).__name__})"
        raise UserError(f"No answer {why}.") from error
    finally:
        limit.cancel()
        connection.close()
