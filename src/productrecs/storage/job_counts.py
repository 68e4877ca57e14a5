"""How much of a store's background work waits, runs, or failed?"""

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.storage.job_queue import State
from productrecs.storage.tables import jobs


def count_jobs(connection: sa.Connection, store_id: StoreId) -> dict[State, int]:
    """Return how many jobs of the store stand in each state, none being 0."""
    query = (
        sa.select(jobs.c.state, sa.func.count())
        .where(jobs.c.store_id == store_id)
        .group_by(jobs.c.state)
    )
    found = {State(state): int(count) for state, count in connection.execute(query)}
    return dict.fromkeys(State, 0) | found
