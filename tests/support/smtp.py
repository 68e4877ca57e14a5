"""SMTP server of tests: takes every mail on a port of this machine."""

from __future__ import annotations

import base64
import socketserver
import threading
from email import message_from_bytes, policy
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from email.message import EmailMessage


class _Talk(socketserver.StreamRequestHandler):
    """One connection, with the verbs that `smtplib` uses."""

    server: MailServer

    def handle(self) -> None:
        self._say("220 ready")
        while line := self.rfile.readline():
            verb, _, rest = line.decode().strip().partition(" ")
            if verb.upper() == "QUIT":
                self._say("221 bye")
                return
            self._answer(verb.upper(), rest)

    def _answer(self, verb: str, rest: str) -> None:
        if verb == "EHLO":
            self._say("250-here", "250 AUTH PLAIN")
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
            self._say("250 taken")
        else:
            self._say("250 ok")

    def _say(self, *lines: str) -> None:
        self.wfile.write("".join(f"{line}\r\n" for line in lines).encode())


class MailServer(socketserver.ThreadingTCPServer):
    """Use it as a context; `mails` holds what came in."""

    daemon_threads = True

    def __init__(self) -> None:
        """Listen on a free port."""
        super().__init__(("127.0.0.1", 0), _Talk)
        self.mails: list[EmailMessage] = []
        self.logins: list[str] = []

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
