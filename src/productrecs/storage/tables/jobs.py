"""Tables of jobs: the job queue, when periodic tasks last ran, and job totals."""

import sqlalchemy as sa

from productrecs.storage.tables.base import metadata, store_id_column

# Times are the machine's (operational) clock, never the business clock of replays.
jobs = sa.Table(
    "jobs",
    metadata,
    store_id_column(),
    sa.Column("job_id", sa.String(32), primary_key=True),
    sa.Column("kind", sa.String(32), nullable=False),
    sa.Column("key", sa.String(128), nullable=False),
    sa.Column("state", sa.String(16), nullable=False),  # queued running done dead
    sa.Column("payload", sa.Text, nullable=False),  # JSON
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("run_at", sa.BigInteger, nullable=False),
    sa.Column("token", sa.String(32)),  # fences a worker that lost its lease
    sa.Column("leased_until", sa.BigInteger),
    sa.Column("progress", sa.Double),
    sa.Column("error", sa.Text),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("finished_at", sa.BigInteger),
    sa.Index("ix_jobs_state_run_at", "state", "run_at"),
    sa.Index(
        "uq_jobs_one_queued",
        "store_id",
        "key",
        unique=True,
        sqlite_where=sa.text("state = 'queued'"),
        postgresql_where=sa.text("state = 'queued'"),
    ),
    sa.Index(
        "uq_jobs_one_running",
        "store_id",
        "key",
        unique=True,
        sqlite_where=sa.text("state = 'running'"),
        postgresql_where=sa.text("state = 'running'"),
    ),
)

# The turns of the schedule: a duty of a store is not due again before `due_at`.
duties = sa.Table(
    "duties",
    metadata,
    store_id_column(),
    sa.Column("duty", sa.String(32), primary_key=True),
    sa.Column("due_at", sa.BigInteger, nullable=False),
)

# What became of the jobs of each kind since the first, one row for the installation.
job_totals = sa.Table(
    "job_totals",
    metadata,
    store_id_column(),
    sa.Column("kind", sa.String(32), primary_key=True),
    sa.Column("done", sa.BigInteger, nullable=False),
    sa.Column("retried", sa.BigInteger, nullable=False),  # attempts that failed
    sa.Column("dead", sa.BigInteger, nullable=False),
    sa.Column("milliseconds", sa.BigInteger, nullable=False),  # that all of these took
    sa.Column("done_at", sa.BigInteger),  # the last time that one was
)
