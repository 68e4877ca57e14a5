"""History checker: finds each kind of falsified history."""

from tests.trust.history import History, Operation, Outcome

TRUE = {"acknowledged": 1, "an order": 2, "unanswered": 1}


def history() -> History:
    sent = History()
    sent.note(
        [
            Operation("acknowledged", Outcome.OK),
            Operation("an order", Outcome.OK, rows=2),
            Operation("refused", Outcome.FAILED),
            Operation("unanswered", Outcome.INFO),
            Operation("cut off", Outcome.INFO),
        ]
    )
    return sent


def test_a_true_history_is_clean_with_or_without_the_unanswered_operations() -> None:
    verdict = history().judge(TRUE)

    assert verdict.is_clean
    assert verdict.recovered == {"unanswered"}


def test_an_acknowledged_event_that_is_gone_is_lost() -> None:
    verdict = history().judge(TRUE | {"acknowledged": 0})

    assert verdict.lost == {"acknowledged"}
    assert not verdict.is_clean


def test_an_unanswered_event_stored_twice_is_duplicated() -> None:
    verdict = history().judge(TRUE | {"acknowledged": 2, "unanswered": 2})

    assert verdict.duplicated == {"acknowledged", "unanswered"}
    assert not verdict.is_clean


def test_an_order_with_one_line_of_two_is_torn() -> None:
    verdict = history().judge(TRUE | {"an order": 1})

    assert verdict.torn == {"an order"}
    assert not verdict.is_clean


def test_what_was_refused_or_never_sent_is_unexpected() -> None:
    verdict = history().judge(TRUE | {"refused": 1, "from nowhere": 1})

    assert verdict.unexpected == {"refused", "from nowhere"}
    assert not verdict.is_clean


def test_what_was_acknowledged_once_stays_acknowledged() -> None:
    sent = history()

    sent.note(
        [
            Operation("acknowledged", Outcome.INFO),
            Operation("cut off", Outcome.OK),
        ]
    )

    assert sent.judge({}).lost == {"acknowledged", "an order", "cut off"}
