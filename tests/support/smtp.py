"""SMTP server of tests: takes every mail on a port of this machine, also over TLS."""

from __future__ import annotations

import base64
import contextlib
import shutil
import socketserver
import ssl
import subprocess
import threading
from email import message_from_bytes, policy
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    import socket
    from email.message import EmailMessage
    from pathlib import Path


class _Talk(socketserver.StreamRequestHandler):
    """One connection, with the verbs that `smtplib` uses."""

    server: MailServer

    is_encrypted = False

    def setup(self) -> None:
        if self.server.security == "tls":
            self._encrypt()
        super().setup()

    def handle(self) -> None:
        with contextlib.suppress(ssl.SSLError, ConnectionError):  # as a refused client ends
            self._talk()

    def _talk(self) -> None:
        self._say("220 ready")
        while line := self.rfile.readline():
            verb, _, rest = line.decode().strip().partition(" ")
            if verb.upper() == "STARTTLS":
                self._say("220 go on")
                self._encrypt()
                super().setup()
                continue
            if verb.upper() == "QUIT":
                self._say("221 bye")
                return
            self._answer(verb.upper(), rest)

    def _answer(self, verb: str, rest: str) -> None:
        if verb == "EHLO":
            offers_tls = self.server.security == "starttls" and not self.is_encrypted
            self._say("250-here", *["250-STARTTLS"] * offers_tls, "250 AUTH PLAIN")
        elif verb == "AUTH":
            self.server.logins.append(base64.b64decode(rest.split()[1]).decode())
            self._say("235 welcome")
        elif verb == "RCPT" and "refused" in rest:
            self._say("550 no such mailbox")
        elif verb == "DATA":
            self._say("354 go on")
            lines = iter(self.rfile.readline, b".\r\n")
            mail = message_from_bytes(b"".join(lines), policy=policy.default)
            self.server.mails.append(mail)
            self.server.encrypted.append(self.is_encrypted)
            self._say("250 taken")
        else:
            self._say("250 ok")

    def finish(self) -> None:
        super().finish()
        self.request.close()

    def _encrypt(self) -> None:
        plain: socket.socket = self.request
        self.request = self.server.tls.wrap_socket(plain, server_side=True)
        self.is_encrypted = True

    def _say(self, *lines: str) -> None:
        self.wfile.write("".join(f"{line}\r\n" for line in lines).encode())


class MailServer(socketserver.ThreadingTCPServer):
    """Use it as a context; `mails` holds what came in."""

    daemon_threads = True

    def __init__(self, security: str = "none", certificate: Path | None = None) -> None:
        """Listen on a free port; `certificate` is a file with its key."""
        super().__init__(("127.0.0.1", 0), _Talk)
        self.security = security
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if certificate is not None:
            self.tls.load_cert_chain(certificate)
        self.mails: list[EmailMessage] = []
        self.logins: list[str] = []
        self.encrypted: list[bool] = []  # of each mail

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self.server_address[1])

    def __enter__(self) -> Self:
        """Start."""
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.shutdown()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a client that ended the handshake: a test looks at the client."""
        del request, client_address


def self_signed(folder: Path, name: str) -> Path | None:
    """Return a file with a new certificate of `name` and its key; None without openssl."""
    program = shutil.which("openssl")
    if program is None:
        return None
    key, made, whole = (folder / one for one in ("key.pem", "made.pem", "whole.pem"))
    subprocess.run(
        [
            *(program, "req", "-x509", "-newkey", "ec", "-nodes", "-days", "2"),
            *("-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", f"/CN={name}"),
            *("-addext", f"subjectAltName=DNS:{name}", "-keyout", key, "-out", made),
        ],
        check=True,
        capture_output=True,
    )
    whole.write_bytes(made.read_bytes() + key.read_bytes())
    return whole
