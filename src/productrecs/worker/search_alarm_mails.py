"""Search alarm e-mails: tell subscribers that the relevance of search fell, and why."""

from typing import Final

from productrecs.features.search.relevance.relevance_history import (
    alarm_text,
    read_measures,
)
from productrecs.mail import TeamMail, send_to_team
from productrecs.services import Services
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.users.repository import UserRepository

RELEVANCE_PATH: Final = "/dashboard/search/relevance"


def mail_search_alarm(services: Services, store: Store, since_ms: int) -> int:
    """Mail the newest measure if it is an alarm since a time; return the e-mails sent."""
    server = services.settings.smtp
    measures = read_measures(services.database, store.store_id, since_ms)
    if server is None or not measures or not measures[-1].is_alarm:
        return 0
    with services.database.reading() as connection:
        readers = UserRepository(connection, store.store_id).search_mail_readers()
    base_url = services.settings.base_url or ""
    mail = TeamMail(
        "search alarm",
        f"{store.domain}: search results got worse",
        f"{alarm_text(measures[-1])}\n\n"
        f"Which queries, and what to do: {base_url}{RELEVANCE_PATH}\n\n"
        "You can turn these e-mails off on the same page.\n",
    )
    return send_to_team(server, store, readers, mail)
