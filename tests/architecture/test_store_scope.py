"""Store scope: every query is bound to one store.

A repository is built for one store, and each statement in it names `store_id`; so does each
SQL text of the hot path. The few that look across stores are named here with their reason.
What this cannot see (the wrong store's id) is what the two-store tests of the API are for.

`SEVERAL_STORES` names the rest: the queries that a database which is sharded by store sends
to every shard, with their reason. docs/sharding.md builds on it.
"""

import ast
import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

import apsw
import pytest

from productrecs.storage.sql.tables import metadata
from tests.support.project import modules

ACROSS_STORES = {
    "LoginAttemptRepository": "it counts names that anybody may type",
    "CrossStoreLoginRepository": "it changes a login in all its stores",
    "AccountRepository": "it finds stores: by domain, and all of them for the directory",
}
READS_ALL = "one row for each store, by a worker's schedule"
OPERATOR = "the operator's commands and metrics"
ACCOUNTS = "accounts, a small table that every shard holds whole"
ATTEMPTS = "names that anybody may type; a table of its own on one shard"
SEVERAL_STORES = {
    "cli/doctor/repository.py: dead_jobs_by_kind": OPERATOR,
    "cli/doctor/repository.py: totp_secrets": OPERATOR,
    "placements/repository.py: _put_statement": "its key begins with the store",
    "storage/sql/dialects.py: put_row": "its row names the store",
    "cli/doctor/repository.py: newest_job_created_at": OPERATOR,
    "cli/doctor/repository.py: count_jobs_due_before": OPERATOR,
    "attribution/repository.py: attribution_backlogs_of_all_stores": READS_ALL,
    "live_events/repository.py: text of _WATCHED_SQL": READS_ALL,
    "relevance/repository.py: measured_and_present_versions": READS_ALL,
    "privacy/repository.py: stores_with_unfinished_erasures": READS_ALL,
    "experiments/repository.py: stores_with_open_or_recent_tests": READS_ALL,
    "pictures/repository.py: reschedule_rejected_pictures": (
        "an operator's setting changed, once a start"
    ),
    "pictures/repository.py: stores_with_picture_work": READS_ALL,
    "scheduled_feeds/repository.py: stores_with_due_feed": READS_ALL,
    "file_imports/repository.py: fail_old_imports": "old files, once in six hours",
    "undo/repository.py: expire_changes": "old changes of every store, once in six hours",
    "order_uploads/repository.py: files_needed": "a file's name decides if it is needed",
    "file_imports/repository.py: files_of_open_imports": READS_ALL,
    "file_imports/repository.py: stores_with_imports_in": READS_ALL,
    "order_uploads/repository.py: stores_with_uploads": READS_ALL,
    "storage/backup/create_backup.py: count_rows": OPERATOR,
    "storage/backup/create_backup.py: delete_all_rows": OPERATOR,
    "storage/backup/create_backup.py: _pages_of_rows": OPERATOR,
    "storage/sql/storage_usage.py: _take_table_sizes": OPERATOR,
    "storage/sql/storage_usage.py: _take_log_sizes": OPERATOR,
    "storage/sql/storage_usage.py: oldest_event_ms": OPERATOR,
    "storage/jobs/job_queue.py: _due_job_queries": "a worker claims any store's next job",
    "storage/jobs/job_queue.py: job_backlogs": OPERATOR,
    "storage/jobs/job_queue.py: stores_with_waiting_job": "a task asks for all stores",
    "storage/jobs/job_queue.py: _delete_finished": "old jobs of every store, once an hour",
    "storage/jobs/recurring_jobs.py: enqueue_due": READS_ALL,
    "storage/backup/restore_backup.py: _check_server_unused_and_replaceable": OPERATOR,
    "storage/backup/restore_backup.py: _migrate_and_remove_models": OPERATOR,
    "storage/backup/restore_backup.py: text of query": OPERATOR,
    "accounts/repository.py: version": ACCOUNTS,
    "accounts/repository.py: _increment_version": ACCOUNTS,
    "accounts/repository.py: get_or_create_installation_number": ACCOUNTS,
    "logins/repository.py: lock_all_logins": ATTEMPTS,
    "logins/repository.py: _find": "a login in all its stores, while somebody logs in",
    "login_attempts/repository.py: latest_refill_ms": ATTEMPTS,
    "login_attempts/repository.py: count_failure": ATTEMPTS,
    "login_attempts/repository.py: delete": ATTEMPTS,
    "login_attempts/repository.py: purge": ATTEMPTS,
    "demand/repository.py: last_forecast_times": READS_ALL,
    "training/repository.py: training_progress": READS_ALL,
    "training/repository.py: serving_snapshots": READS_ALL,
    "webhooks/repository.py: stores_with_webhooks": READS_ALL,
    "webhooks/repository.py: webhook_backlog": READS_ALL,
    "mail_subscriptions/repository.py: oldest_weekly_report_times": READS_ALL,
    "webhooks/repository.py: due_messages": "the sender takes any store's next message",
    "storage/sql/stored_insights.py: insight_coverages": READS_ALL,
    "storage/sql/store_counters_and_versions.py: text of _CATALOGS": READS_ALL,
}
"""Each by its module's end and its function."""
OWN_TRANSACTIONS = {
    "http/limits/usage_metering.py",  # billed calls, which may not be dropped
    "http/pipeline/live_view_recorder.py",
    "http/pipeline/search_count_recorder.py",
    "serving/cached_store.py",  # a training that a damaged model needs, from its thread
    "serving/writes/background_writes.py",
}
FACT_OWNERS = {
    "events": "productrecs/records/events/",
    "items": "productrecs/records/catalog/",
    "purchase_lines": "productrecs/records/purchases/",
    "store_heads": "productrecs/storage/sql/store_counters_and_versions.py",
}
"""The room that holds a fact's SQL; others ask it. Storage may read every table."""
SQL_STATEMENT = re.compile(
    r"\bSELECT\b.+\bFROM\b|\bINSERT\s+(OR\s+\w+\s+)?INTO\b|\bUPDATE\s+\w+\s+SET\b"
    r"|\bDELETE\s+FROM\b|\bPRAGMA\b|\bCREATE\s+(TABLE|INDEX)\b"
    r"|\b(WHERE|AND)\s+[\w.]+\s*(=|<|>|IN\b|LIKE\b|IS\b)",  # a part of a statement
    re.DOTALL,
)
SQL_CALLS = frozenset({"execute", "executemany", "exec_driver_sql", "raw_connection"})
SQL_WORDS = re.compile(r"\s*(SELECT|WITH|VALUES|INSERT|UPDATE|DELETE|REPLACE|ALTER|DROP)\b")
STATEMENTS = frozenset(
    {"select", "insert", "update", "delete", "upsert", "put_row", "text"}
)
OWN = "_own_rows"
"""The condition of `StoreScopedRepository` that names the store for its repositories."""
SQL_WORD = (
    r"\b(SELECT|WITH|VALUES|INSERT|INTO|UPDATE|DELETE|REPLACE|ALTER|DROP|PRAGMA|CREATE"
    r"|FROM|JOIN|WHERE|AND)\b"
)
"""What a module with an SQL text has in it."""
STORE_TABLES = [name for name, table in metadata.tables.items() if "store_id" in table.c]
SQL_TABLE = re.compile(rf"\b(?:FROM|JOIN|UPDATE|INTO)\s+\"?(?:{'|'.join(STORE_TABLES)})\b")


def repositories(tree: ast.Module) -> Iterator[ast.ClassDef]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name.endswith("Repository"):
            yield node


def takes_a_store(repository: ast.ClassDef) -> bool:
    """Return whether its constructor does, its own or that of the base."""
    return any(map(is_base, repository.bases)) or any(
        argument.arg == "store_id"
        for node in repository.body
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
        for argument in node.args.args
    )


def is_base(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "StoreScopedRepository"


def unbound_methods(repository: ast.ClassDef) -> list[str]:
    """Return the methods that build more statements than they name stores."""
    methods = [node for node in repository.body if isinstance(node, ast.FunctionDef)]
    criteria = {
        method.name
        for method in methods
        if not statements(method) and namings_of_the_store(method, frozenset())
    }
    return [
        f"{repository.name}.{method.name}"
        for method in methods
        if statements(method) > namings_of_the_store(method, criteria)
    ]


def statements(method: ast.FunctionDef) -> int:
    return sum(
        isinstance(node, ast.Call) and callee(node) in STATEMENTS
        for node in ast.walk(method)
    )


def callee(call: ast.Call) -> str | None:
    # `x.update({...})` of a dict is no statement: a table's takes no argument.
    if isinstance(call.func, ast.Name):
        return call.func.id
    if not isinstance(call.func, ast.Attribute):
        return None
    of_sqlalchemy = isinstance(call.func.value, ast.Name) and call.func.value.id == "sa"
    return call.func.attr if of_sqlalchemy or not call.args else None


def namings_of_the_store(method: ast.FunctionDef, criteria: AbstractSet[str]) -> int:
    """Count them, a call of a method that gives a criterion with the store included."""
    return sum(
        (isinstance(node, ast.Attribute) and node.attr in {"store_id", OWN, *criteria})
        or (isinstance(node, ast.keyword) and node.arg == "store_id")
        or (isinstance(node, ast.Constant) and node.value == "store_id")
        for node in ast.walk(method)
    )


def unroutable(tree: ast.Module) -> list[str]:
    """Return the functions and texts that hold more statements than choices of a store.

    Stricter than naming the store: a selected or joined column does not bind a statement.
    """
    if not any("sqlalchemy" in ast.unparse(node) for node in imports_of(tree)):
        return unroutable_texts(tree)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    choices = Choices(names_of_columns(tree))
    choices.criteria |= {
        one.name for one in functions if not own_statements(one) and choices.count(one)
    }
    found = [one.name for one in functions if own_statements(one) > choices.count(one)]
    return found + unroutable_texts(tree)


def imports_of(tree: ast.Module) -> list[ast.stmt]:
    return [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]


def names_of_columns(tree: ast.Module) -> set[str]:
    """Return the names that are assigned a table's columns, `table.c`."""
    pairs = [
        (target, value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target, value in zip(
            parts_of(node.targets[0]), parts_of(node.value), strict=False
        )
    ]
    return {
        ast.unparse(name) for name, value in pairs if ast.unparse(value).endswith(".c")
    } | {
        ast.unparse(node.target)
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign)
        and node.value is not None
        and ast.unparse(node.value).endswith(".c")
    }


def parts_of(node: ast.expr) -> list[ast.expr]:
    return list(node.elts) if isinstance(node, ast.Tuple) else [node]


def own_statements(function: ast.FunctionDef) -> int:
    """Count the statements, without parts of one and selections from one."""
    parts = sum(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"subquery", "text"}
        for node in ast.walk(function)
    )
    return statements(function) - parts


class Choices:
    """Where one store is chosen: by equality, or as the store of a new row."""

    def __init__(self, columns: AbstractSet[str]) -> None:
        self.criteria: AbstractSet[str] = {OWN}  # functions that give a choice
        self._columns = columns

    def count(self, function: ast.FunctionDef) -> int:
        """Return how many a function has."""
        return sum(map(self._is_choice, ast.walk(function)))

    def _is_choice(self, node: ast.AST) -> bool:
        match node:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                return self._is_column(left) != self._is_column(right)
            case ast.Call(func=ast.Attribute(attr="in_", value=value)):
                return self._is_column(value)
            case ast.Dict(keys=keys):
                return "store_id" in [k.value for k in keys if isinstance(k, ast.Constant)]
            case ast.keyword(arg=name):
                return name == "store_id"
            case ast.Attribute(attr=name) | ast.Name(id=name):
                return name in self.criteria
            case _:
                return False

    def _is_column(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Attribute) or node.attr != "store_id":
            return False
        table = ast.unparse(node.value)
        return table.endswith(".c") or table in self._columns


SQL_CHOICE = re.compile(r"store_id\s*(=|IN\b)|INTO \S+ \(\s*store_id\b|\(store_id,")


def unroutable_texts(tree: ast.Module) -> list[str]:
    """Return the names of the SQL texts that choose no store."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            text = ast.unparse(node.value) if node.value is not None else ""
            if SQL_TABLE.search(text) and not SQL_CHOICE.search(text):
                found.append(f"text of {ast.unparse(target)}")
    return found


def texts_of(tree: ast.Module) -> list[str]:
    """Return the source of every string literal, an f-string as one."""
    whole = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    parts = {part for node in whole for part in node.values}
    plain = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return [ast.unparse(node) for node in [*whole, *plain] if node not in parts]


def opens_transaction(tree: ast.Module) -> bool:
    """Return whether a module writes past the write client."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "transaction"
        for node in ast.walk(tree)
    )


def unbound_texts(tree: ast.Module) -> list[str]:
    """Return the SQL texts that read more stores' tables than they name stores."""
    return [
        one for one in texts_of(tree) if len(SQL_TABLE.findall(one)) > one.count("store_id")
    ]


def sql_of(tree: ast.Module) -> list[str]:
    """Return the literals that are SQL, and the calls that run or build a statement."""
    calls = [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and (
            (isinstance(node.func, ast.Name) and node.func.id in SQL_CALLS)
            or (isinstance(node.func, ast.Attribute) and node.func.attr in SQL_CALLS)
            or ast.unparse(node.func) == "sa.text"
        )
    ]
    return [one for one in texts_of(tree) if is_sql(one)] + calls


def is_sql(source: str) -> bool:
    """Return whether a literal is SQL: by its words, or because SQLite parses it."""
    if SQL_STATEMENT.search(source):
        return True
    text = re.sub(r"\{[^}]*\}", "x", source.lstrip("rbf").strip("'\"")).replace("\\n", " ")
    if not SQL_WORDS.match(text):
        return False
    try:
        apsw.Connection(":memory:").execute(f"EXPLAIN {text}").fetchall()
    except apsw.Error as error:
        wrong = ("syntax error", "incomplete input", "unrecognized token")
        return not any(one in str(error) for one in wrong)
    return True


def test_every_repository_is_built_for_one_store() -> None:
    found = {
        repository.name: takes_a_store(repository)
        for _, tree in modules(having="Repository")
        for repository in repositories(tree)
    }

    assert found
    assert {name for name, bound in found.items() if not bound} == ACROSS_STORES.keys()


def test_every_statement_of_a_repository_names_the_store() -> None:
    unbound = [
        f"{path}: {method}"
        for path, tree in modules(having="Repository")
        for repository in repositories(tree)
        if repository.name not in ACROSS_STORES
        for method in unbound_methods(repository)
    ]

    assert unbound == []


def test_every_sql_text_names_the_store() -> None:
    unbound = [
        f"{path}: {text}"
        for path, tree in modules(having=SQL_WORD)
        if "/storage/" not in path
        for text in unbound_texts(tree)
    ]

    assert unbound == []


def test_every_query_can_be_routed_by_its_store_or_is_listed() -> None:
    found = {
        f"{path}: {name}"
        for path, tree in modules(having=f"sqlalchemy|{SQL_WORD}")
        if "/migrations/" not in path
        for name in unroutable(tree)
    }
    listed = {
        one: name for one in found for name in SEVERAL_STORES if one.endswith("/" + name)
    }

    assert found - listed.keys() == set()
    assert SEVERAL_STORES.keys() - {*listed.values()} == set()


def facts_named(tree: ast.Module) -> set[str]:
    """Return the owned tables that a module imports, or names in an SQL text."""
    imported = {
        name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and "storage.sql.tables" in (node.module or "")
        for name in node.names
    }
    texts = texts_of(tree)
    return {
        fact
        for fact in FACT_OWNERS
        if fact in imported
        or any(re.search(rf"\b(FROM|JOIN|UPDATE|INTO) {fact}\b", text) for text in texts)
    }


def test_the_sql_of_a_fact_is_in_the_room_that_owns_it() -> None:
    found = {
        (fact, path.removeprefix("productrecs/"))
        for path, tree in modules(having=f"storage.sql.tables|{SQL_WORD}")
        if path.startswith("productrecs/") and "/storage/" not in path
        for fact in facts_named(tree)
        if not path.startswith(FACT_OWNERS[fact])
    }

    assert found == set()


@pytest.mark.parametrize(
    ("source", "is_caught"),
    [
        ("from productrecs.storage.sql.tables import purchase_lines", True),
        ("from productrecs.storage.sql.tables import purchase_lines as lines", True),
        ("from productrecs.storage.sql.tables import events, items", True),
        ("from productrecs.storage.sql.tables import store_heads", True),
        ("from productrecs.storage.sql.tables import order_receipts", False),
        ("QUERY = f'SELECT {x} FROM purchase_lines WHERE store_id = ?'", True),
        ("QUERY = 'SELECT 1 FROM a JOIN items i ON i.number = a.item'", True),
        ("QUERY = 'UPDATE store_heads SET seq = 1'", True),
        ("QUERY = 'SELECT seq FROM live_events WHERE store_id = ?'", False),
        ("WORDS = 'the purchase_lines of a store'", False),
    ],
)
def test_sql_of_another_rooms_fact_is_caught(source: str, *, is_caught: bool) -> None:
    assert bool(facts_named(ast.parse(source))) is is_caught


def test_sql_is_written_in_repositories_and_storage_only() -> None:
    elsewhere = [
        f"{path}: {text}"
        for path, tree in modules(having=f"{'|'.join(SQL_CALLS)}|sa.text|{SQL_WORD}")
        if "/storage/" not in path and not path.endswith("/repository.py")
        for text in sql_of(tree)
    ]

    assert elsewhere == []


@pytest.mark.parametrize(
    ("source", "is_caught"),
    [
        ("'SELECT a FROM items'", True),
        ("f'SELECT {columns} FROM items WHERE store_id = ?'", True),
        ("'DELETE FROM events'", True),
        ("'SELECT 1'", True),
        ("'WITH a AS (VALUES (1)) SELECT * FROM a'", True),
        ("f'UPDATE \"{table}\" SET state = 1'", True),
        ("'DROP TABLE items'", True),
        ("f' WHERE number = ? {more}'", True),
        ("'AND item.number IN (1, 2)'", True),
        ("connection.execute(QUERY)", True),
        ("connection.exec_driver_sql(QUERY)", True),
        ("raw_connection(transaction).all(QUERY, ())", True),
        ("sa.text(QUERY)", True),
        ("'Select a file from the list'", False),
        ("'DELETE'", False),
        ("'UPDATE or create a look'", False),
        ("'WITH what the store sold'", False),
        ("library.text(slug)", False),
    ],
)
def test_sql_elsewhere_is_caught(source: str, *, is_caught: bool) -> None:
    assert bool(sql_of(ast.parse(source))) is is_caught


def test_api_processes_write_through_the_write_client() -> None:
    found = {
        path.removeprefix("productrecs/")
        for path, tree in modules(having="transaction")
        if path.startswith(("productrecs/http/", "productrecs/serving/"))
        and opens_transaction(tree)
    }

    assert found <= OWN_TRANSACTIONS


def test_a_transaction_elsewhere_is_caught() -> None:
    tree = ast.parse("with context.services.database.transaction() as one:\n    add(one)")

    assert opens_transaction(tree)


def test_a_repository_without_a_store_is_caught() -> None:
    tree = ast.parse("class ItemRepository:\n    def __init__(self, transaction): ...")

    assert not takes_a_store(next(repositories(tree)))


def test_a_statement_that_forgets_the_store_is_caught() -> None:
    tree = ast.parse(
        "class ItemRepository:\n"
        "    def bound(self):\n"
        "        return sa.select(items).where(items.c.store_id == self._store_id)\n"
        "    def unbound(self):\n"
        "        return sa.select(items).where(items.c.number == 1)\n"
        "    def through_a_criterion(self):\n"
        "        return sa.select(items).where(self._mine())\n"
        "    def through_the_base(self):\n"
        "        return sa.select(items).where(self._own_rows(items, number=1))\n"
        "    def _mine(self):\n"
        "        return items.c.store_id == self._store_id\n"
        "    def half(self):\n"
        "        run(items.insert().values(store_id=self._store_id))\n"
        "        run(items.delete().where(items.c.number == 1))\n"
    )

    found = unbound_methods(next(repositories(tree)))

    assert found == ["ItemRepository.unbound", "ItemRepository.half"]


@pytest.mark.parametrize(
    ("lines", "is_caught"),
    [
        ("return sa.select(items).where(items.c.store_id == store_id)", False),
        ("return sa.select(items.c.store_id, items.c.number)", True),
        ("return sa.select(a).where(a.c.store_id == b.c.store_id)", True),
        (
            "return sa.select(a).where(a.c.store_id == b.c.store_id, a.c.store_id == s)",
            False,
        ),
        ("a = items.c\n    return sa.select(a.number).where(a.store_id == s)", False),
        ("run(items.insert().values(store_id=s))\n    run(sa.delete(items))", True),
        ("return sa.update(items).where(items.c.store_id.in_(stores)).values(a=1)", False),
        ("QUERY = 'SELECT store_id FROM items WHERE number = ?'", True),
        ("QUERY = 'SELECT number FROM items WHERE store_id = ?'", False),
    ],
)
def test_a_query_that_no_store_routes_is_caught(lines: str, *, is_caught: bool) -> None:
    tree = ast.parse(f"import sqlalchemy as sa\n\ndef one():\n    {lines}")

    assert bool(unroutable(tree)) is is_caught


def test_an_sql_text_that_forgets_the_store_is_caught() -> None:
    tree = ast.parse(
        "GOOD = f'SELECT {x} FROM items WHERE store_id = ?'\n"
        "BAD = f'SELECT {x} FROM items WHERE number = ?'\n"
        "WORSE = 'DELETE FROM events'\n"
    )

    assert len(unbound_texts(tree)) == 2
