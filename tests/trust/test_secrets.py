"""Is a key ever written down? Not in a log, not in the database, not in a backup of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.api.routes import TABLE, with_query
from tests.support.service import Service

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.service import Merchant


def everything_on_disk(folder: Path) -> dict[str, bytes]:
    """Return the content of every file below a folder."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def use_every_way(merchant: Merchant) -> None:
    """Send the store's keys in every way there is, right and wrong, to every route."""
    account = merchant.account
    for (method, _), row in TABLE.items():
        call = row.call(merchant)
        for query, headers in (
            (f"key={account.publishable}", {"x-api-key": account.secret}),
            (f"key={account.secret}", {}),
            ("", {"authorization": f"Bearer {account.secret}"}),
            ("", {"x-pub-key": account.secret}),
            (f"key={account.publishable}x", {"x-api-key": f"{account.secret}x"}),
        ):
            target = with_query(call.target, query)
            merchant.client.ask(method, target, call.body, {**call.headers, **headers})
            merchant.client.ask(method, target, b"{" + account.secret.encode(), headers)


def test_no_secret_key_is_ever_written_down(data_folder: Path) -> None:
    with Service(data_folder).prepare() as service:
        merchant = service.register()
        use_every_way(merchant)
        service.run("keys", "rotate", merchant.account.domain)
        service.stop()
        written = everything_on_disk(data_folder)

    publishable, secret = (
        key.encode() for key in (merchant.account.publishable, merchant.account.secret)
    )
    assert [path for path, content in written.items() if secret in content] == []
    assert publishable not in written[str(service.log_path)]
    # Whatever is written would have been found: the other key is kept as it is.
    assert any(publishable in content for content in written.values())
