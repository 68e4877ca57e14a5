"""Mail choices: whether the signed-in user gets e-mails about a subject."""

from productrecs.dashboard.page import Visit
from productrecs.tenancy.users.mail_subscriptions.repository import (
    MailSubscriptionRepository,
    MailTopic,
)


def user_gets_mails(visit: Visit, topic: MailTopic) -> bool:
    """Return whether the user gets e-mails about a subject."""
    with visit.database.reading() as connection:
        subscriptions = MailSubscriptionRepository(connection, visit.store.store_id)
        readers = subscriptions.readers(topic)
    return any(reader.user_id == visit.user.user_id for reader in readers)


def turn_user_mails_on_or_off(visit: Visit, topic: MailTopic) -> bool:
    """Turn the user's e-mails about a subject on or off; return whether they are on."""
    is_on = visit.form["mails"] == "on"
    with visit.database.transaction() as transaction:
        subscriptions = MailSubscriptionRepository(transaction, visit.store.store_id)
        subscriptions.set_subscription(visit.user.user_id, topic, is_on=is_on)
    return is_on
