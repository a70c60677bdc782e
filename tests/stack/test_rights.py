"""Who may do what in the database: every role, every table, view and function, read from the catalogue."""

from __future__ import annotations

import psycopg
import pytest

from jobs.settings import ROLES
from tests.case import Case
from tests.rig import Rig

pytestmark = pytest.mark.rig

OWNER, WRITER, REGISTRY, OPERATOR, READER = ROLES
"""The owner migrates; drivers write as the writer, the control plane as the registry; people look as the last two."""
EXPECTED: dict[str, dict[str, str]] = {}
APPEND_ONLY = ("registry.audit", "registry.release", "ops.audit", "ops.releases")

_TABLES = """
select n.nspname || '.' || c.relname as name, r.rolname as role, concat_ws(' ',
    case when has_table_privilege(r.rolname, c.oid, 'select') then 'select' end,
    case when has_table_privilege(r.rolname, c.oid, 'insert') then 'insert' end,
    case when has_table_privilege(r.rolname, c.oid, 'update') then 'update'
        else (select 'update(' || string_agg(a.attname, ',' order by a.attname) || ')' from pg_attribute a
            where a.attrelid = c.oid and a.attnum > 0 and has_column_privilege(r.rolname, c.oid, a.attnum, 'update')) end,
    case when has_table_privilege(r.rolname, c.oid, 'delete') then 'delete' end,
    case when has_table_privilege(r.rolname, c.oid, 'truncate') then 'truncate' end,
    case when has_table_privilege(r.rolname, c.oid, 'references') then 'references' end,
    case when has_table_privilege(r.rolname, c.oid, 'trigger') then 'trigger' end) as rights
from pg_class c join pg_namespace n on n.oid = c.relnamespace cross join pg_roles r
where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname !~ '^(pg_|information_schema)' and r.rolname = any(%s)
"""
_FUNCTIONS = """
select n.nspname || '.' || p.proname || '()' as name, r.rolname as role,
    case when has_function_privilege(r.rolname, p.oid, 'execute') then 'execute' else '' end as rights
from pg_proc p join pg_namespace n on n.oid = p.pronamespace cross join pg_roles r
where n.nspname !~ '^(pg_|information_schema)' and r.rolname = any(%s)
"""
_SEQUENCES = """
select n.nspname || '.' || c.relname as name, r.rolname as role, concat_ws(' ',
    case when has_sequence_privilege(r.rolname, c.oid, 'usage') then 'usage' end,
    case when has_sequence_privilege(r.rolname, c.oid, 'update') then 'update' end) as rights
from pg_class c join pg_namespace n on n.oid = c.relnamespace cross join pg_roles r
where c.relkind = 'S' and n.nspname !~ '^(pg_|information_schema)' and r.rolname = any(%s)
"""
_SCHEMAS = """
select n.nspname || '.*' as name, r.rolname as role, concat_ws(' ',
    case when has_schema_privilege(r.rolname, n.oid, 'usage') then 'usage' end,
    case when has_schema_privilege(r.rolname, n.oid, 'create') then 'create' end) as rights
from pg_namespace n cross join pg_roles r where n.nspname !~ '^(pg_|information_schema)' and r.rolname = any(%s)
"""
_DATABASE = """
select 'database' as name, r.rolname as role, concat_ws(' ',
    case when has_database_privilege(r.rolname, current_database(), 'connect') then 'connect' end,
    case when has_database_privilege(r.rolname, current_database(), 'create') then 'create' end,
    case when has_database_privilege(r.rolname, current_database(), 'temporary') then 'temporary' end) as rights
from pg_roles r where r.rolname = any(%s)
"""


@pytest.fixture(scope="module")
def case(cases: Rig) -> Case:
    return cases.case("ad_ctr")


def found(case: Case, statement: str) -> dict[str, dict[str, str]]:
    """object -> role -> its rights; what nobody but the owner may touch has none."""
    rights: dict[str, dict[str, str]] = {}
    for row in case.query(statement, list(ROLES[1:])):
        mine = rights.setdefault(row["name"], {})
        if row["rights"]:
            mine[row["role"]] = row["rights"]
    return rights


def test_each_role_has_the_rights_of_the_table_and_no_others(case: Case) -> None:
    """A new table, view, function, sequence or schema without a line here fails."""
    rights: dict[str, dict[str, str]] = {}
    for statement in (_TABLES, _FUNCTIONS, _SEQUENCES, _SCHEMAS, _DATABASE):
        rights |= found(case, statement)
    assert rights == EXPECTED


@pytest.mark.parametrize("role", ROLES[1:])
@pytest.mark.parametrize("name", APPEND_ONLY)
def test_nobody_who_works_with_the_database_changes_what_is_append_only(case: Case, name: str, role: str) -> None:
    column = "actor" if name.endswith("audit") else "promoted_by"
    statements = [f"update {name} set {column} = 'somebody else'", f"delete from {name}"]
    if name.startswith("registry."):
        statements.append(f"truncate {name}")
    for statement in statements:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            case.query(statement, role=role)


@pytest.mark.parametrize("role", ROLES)
def test_no_role_of_the_stack_is_more_than_a_role(case: Case, role: str) -> None:
    (row,) = case.query("select rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls, rolinherit, "
                        "(select count(*) from pg_auth_members m where m.member = r.oid) as groups "
                        "from pg_roles r where rolname = %s", role)  # fmt: skip
    assert {name: value for name, value in row.items() if name != "rolinherit"} == {
        "rolsuper": False, "rolcreaterole": False, "rolcreatedb": False, "rolreplication": False,
        "rolbypassrls": False, "groups": 0,
    }  # fmt: skip
