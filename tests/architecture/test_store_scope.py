"""Store scope: every query is bound to one store.

A repository is built for one store, and each statement in it names `store_id`; so does each
SQL text of the hot path. The few that look across stores are named here with their reason.
What this cannot see (the wrong store's id) is what the two-store tests of the API are for.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import apsw
import pytest

from productrecs.storage.tables import metadata
from tests.support.project import modules

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

ACROSS_STORES = {
    "AttemptRepository": "it counts names that anybody may type",
    "AccountRepository": "it finds stores: by domain, and all of them for the directory",
}
OWN_TRANSACTIONS = {
    "caches/store_cache.py",  # a training that a damaged model needs, from its thread
    "limits/usage_metering.py",  # billed calls, which may not be dropped
    "writes/background_writes.py",
    "writes/live_event_recorder.py",
    "writes/search_count_recorder.py",
}
SQL_STATEMENT = re.compile(
    r"\bSELECT\b.+\bFROM\b|\bINSERT\s+(OR\s+\w+\s+)?INTO\b|\bUPDATE\s+\w+\s+SET\b"
    r"|\bDELETE\s+FROM\b|\bPRAGMA\b|\bCREATE\s+(TABLE|INDEX)\b"
    r"|\b(WHERE|AND)\s+[\w.]+\s*(=|<|>|IN\b|LIKE\b|IS\b)",  # a part of a statement
    re.DOTALL,
)
SQL_CALLS = frozenset({"execute", "executemany", "exec_driver_sql", "raw_connection"})
SQL_WORDS = re.compile(r"\s*(SELECT|WITH|VALUES|INSERT|UPDATE|DELETE|REPLACE|ALTER|DROP)\b")
STATEMENTS = frozenset({"select", "insert", "update", "delete", "upsert", "text"})
STORE_TABLES = [name for name, table in metadata.tables.items() if "store_id" in table.c]
SQL_TABLE = re.compile(rf"\b(?:FROM|JOIN|UPDATE|INTO)\s+\"?(?:{'|'.join(STORE_TABLES)})\b")


def repositories(tree: ast.Module) -> Iterator[ast.ClassDef]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name.endswith("Repository"):
            yield node


def takes_a_store(repository: ast.ClassDef) -> bool:
    return any(
        argument.arg == "store_id"
        for node in repository.body
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
        for argument in node.args.args
    )


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
        (isinstance(node, ast.Attribute) and node.attr in {"store_id", *criteria})
        or (isinstance(node, ast.keyword) and node.arg == "store_id")
        or (isinstance(node, ast.Constant) and node.value == "store_id")
        for node in ast.walk(method)
    )


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
        for _, tree in modules()
        for repository in repositories(tree)
    }

    assert found
    assert {name for name, bound in found.items() if not bound} == ACROSS_STORES.keys()


def test_every_statement_of_a_repository_names_the_store() -> None:
    unbound = [
        f"{path}: {method}"
        for path, tree in modules()
        for repository in repositories(tree)
        if repository.name not in ACROSS_STORES
        for method in unbound_methods(repository)
    ]

    assert unbound == []


def test_every_sql_text_names_the_store() -> None:
    unbound = [
        f"{path}: {text}"
        for path, tree in modules()
        if "/storage/" not in path
        for text in unbound_texts(tree)
    ]

    assert unbound == []


def test_sql_is_written_in_repositories_and_storage_only() -> None:
    elsewhere = [
        f"{path}: {text}"
        for path, tree in modules()
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
        path.removeprefix("productrecs/entrypoints/http/")
        for path, tree in modules()
        if path.startswith("productrecs/entrypoints/http/") and opens_transaction(tree)
    }

    assert {one for one in found if not one.startswith("dashboard/")} <= OWN_TRANSACTIONS


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
        "    def _mine(self):\n"
        "        return items.c.store_id == self._store_id\n"
        "    def half(self):\n"
        "        run(items.insert().values(store_id=self._store_id))\n"
        "        run(items.delete().where(items.c.number == 1))\n"
    )

    found = unbound_methods(next(repositories(tree)))

    assert found == ["ItemRepository.unbound", "ItemRepository.half"]


def test_an_sql_text_that_forgets_the_store_is_caught() -> None:
    tree = ast.parse(
        "GOOD = f'SELECT {x} FROM items WHERE store_id = ?'\n"
        "BAD = f'SELECT {x} FROM items WHERE number = ?'\n"
        "WORSE = 'DELETE FROM events'\n"
    )

    assert len(unbound_texts(tree)) == 2
