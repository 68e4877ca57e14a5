"""E-mail: links, invitations and notices, sent through the operator's SMTP server."""

import contextlib
import logging
import smtplib
import ssl
from collections.abc import Iterable, Iterator, Mapping
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from types import MappingProxyType
from typing import Final, NamedTuple

from productrecs.core.errors import ProductRecsError
from productrecs.settings import SmtpServer
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.users.dashboard_user import DashboardUser

_log = logging.getLogger(__name__)
_SECONDS: Final = 20.0


class MailError(ProductRecsError):
    """The SMTP server did not accept a mail, or cannot be reached."""


class TeamMail(NamedTuple):
    """An e-mail to those of a store's users who asked for its kind."""

    kind: str  # in the log, if it cannot be sent
    subject: str
    text: str


def send_mail(
    server: SmtpServer,
    to: str,
    subject: str,
    text: str,
    *,
    reply_to: str = "",
    headers: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Send a plain text; blocks, with a timeout of about 20 seconds for each step.

    Answers go to `reply_to`, else to the server's sender. `headers` are further ones.

    Raises:
        MailError: when the server cannot be reached, or rejects the mail.
    """
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = server.sender, to, subject
    message["Date"], message["Message-ID"] = formatdate(), make_msgid(domain="productrecs")
    if reply_to:
        message["Reply-To"] = reply_to
    message["Auto-Submitted"] = "auto-generated"
    for name, value in headers.items():
        message[name] = value
    message.set_content(text)
    try:
        with _open_smtp_connection(server) as connection:
            connection.send_message(message)
    except (OSError, smtplib.SMTPException) as error:
        _log.warning("mail not sent", extra={"reason": str(error)[:200]})
        message_text = "the e-mail could not be sent; the service's log says why"
        raise MailError(message_text) from error


def send_to_team(
    server: SmtpServer, store: Store, readers: Iterable[DashboardUser], mail: TeamMail
) -> int:
    """Send an e-mail to each of a store's `readers`; return how many were sent.

    One that cannot be sent is logged, and the others are sent.
    """
    sent_count, contact = 0, store.settings.contact_email
    for reader in readers:
        try:
            send_mail(server, reader.email or "", mail.subject, mail.text, reply_to=contact)
            sent_count += 1
        except MailError:
            _log.warning("mail not sent", extra={"reason": mail.kind})
    return sent_count


@contextlib.contextmanager
def _open_smtp_connection(server: SmtpServer) -> Iterator[smtplib.SMTP]:
    ssl_context = ssl.create_default_context()
    if server.security == "tls":
        smtp_connection: smtplib.SMTP = smtplib.SMTP_SSL(
            server.host, server.port, timeout=_SECONDS, context=ssl_context
        )
    else:
        smtp_connection = smtplib.SMTP(server.host, server.port, timeout=_SECONDS)
    with smtp_connection as connection:
        if server.security == "starttls":
            connection.starttls(context=ssl_context)
        if server.user is not None:
            connection.login(server.user, server.password or "")
        yield connection
