"""One signed request, as Standard Webhooks have it: to an address that was checked, without following anywhere."""

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
    """What a webhook is signed with; its owner keeps it where the webhook leads."""
    return PREFIX + b64encode(token_bytes(32)).decode()


def sign(secret: str, id: str, timestamp: int, body: bytes) -> str:
    """The signature of a message: only who has the secret could have made it, and not for another time.

    >>> sign("whsec_c2VjcmV0", "m1", 1700000000, b"{}")
    'v1,6a2BS7tv4ywWskEzv65tBIvuQ6lMqhUAxIXRZuEx1t4='
    """
    key = b64decode(secret.removeprefix(PREFIX))
    return "v1," + b64encode(hmac.digest(key, f"{id}.{timestamp}.".encode() + body, "sha256")).decode()


def headers(secret: str, id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """What a message is sent with."""
    return {
        "Content-Type": "application/json",
        "User-Agent": f"hybridal/{__version__}",
        "webhook-id": id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(secret, id, timestamp, body),
    }


class CheckedConnection(HTTPConnection):
    """Connects to an address that was checked itself: asked a second time, a name might lead elsewhere."""

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
        """What was not there yet could not be ended."""
        if self.late:
            raise TimeoutError

    def end(self) -> None:
        """Whoever waits for this connection waits no more."""
        self.late = True
        if self.sock is not None:
            with suppress(OSError):
                self.sock.shutdown(socket.SHUT_RDWR)


def post(url: str, headers: Mapping[str, str], body: bytes) -> int:
    """The status of the answer; a `UserError` says why there is none. What else it says is nobody's business here."""
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    connection = CheckedConnection(parts.hostname or "", parts.port or (443 if secure else 80), secure)
    # A server that sends a byte now and then would hold us for ever.
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
