"""E-mail over an encrypted connection: to a server whose certificate is trusted, only."""

from pathlib import Path

import pytest

from productrecs.mail import MailError, send_mail
from productrecs.settings import SmtpServer
from tests.support.smtp import MailServer, self_signed


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = self_signed(tmp_path_factory.mktemp("certificate"), "localhost")
    if made is None:
        pytest.skip("needs openssl")
    return made


@pytest.mark.parametrize("security", ["tls", "starttls"])
@pytest.mark.parametrize(
    ("host", "is_trusted", "is_sent"),
    [
        ("localhost", True, True),
        ("localhost", False, False),
        ("127.0.0.1", True, False),  # the certificate is of another name
    ],
)
def test_a_mail_goes_encrypted_to_a_trusted_server_or_not_at_all(
    monkeypatch: pytest.MonkeyPatch,
    certificate: Path,
    security: str,
    host: str,
    *,
    is_trusted: bool,
    is_sent: bool,
) -> None:
    if is_trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with MailServer(security, certificate) as server:
        to = SmtpServer(host, server.port, security, "recs@example.com", "me", "pass")
        if is_sent:
            send_mail(to, "anna@example.com", "Hello", "A text.")
        else:
            with pytest.raises(MailError):
                send_mail(to, "anna@example.com", "Hello", "A text.")

        assert server.encrypted == [True] * is_sent
        assert server.logins == ["\0me\0pass"] * is_sent


def test_nothing_is_sent_where_the_server_offers_no_encryption() -> None:
    with MailServer("none") as server:
        to = SmtpServer(
            "127.0.0.1", server.port, "starttls", "recs@example.com", "me", "pass"
        )

        with pytest.raises(MailError):
            send_mail(to, "anna@example.com", "Hello", "A text.")

        assert (server.mails, server.logins) == ([], [])
