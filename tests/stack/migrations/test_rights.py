"""Who may do what in the database: every role, every table, view and function, read from the catalogue."""

from __future__ import annotations

import psycopg
import pytest

from kappa.core.installation.settings import ROLES
from tests.rigs.case import Case
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig

OWNER, WRITER, REGISTRY, OPERATOR, READER = ROLES
"""The owner migrates; drivers write as the writer, the control plane as the registry; people look as the last two."""
SEES, APPENDS = "select", "select insert"
READERS = {READER: SEES, OPERATOR: SEES, REGISTRY: SEES}
OPERATORS = {OPERATOR: SEES, REGISTRY: SEES}
EVERYBODY = dict.fromkeys(ROLES[1:], "execute")
EXPECTED: dict[str, dict[str, str]] = {
    "database": {**dict.fromkeys(ROLES[1:], "connect"), WRITER: "connect temporary"},
    "data.*": {WRITER: "usage", REGISTRY: "usage"},
    "ops.*": {OPERATOR: "usage", REGISTRY: "usage"},
    "public.*": dict.fromkeys(ROLES[1:], "usage"),
    "reference.*": {OPERATOR: "usage", REGISTRY: "usage"},
    "registry.*": {WRITER: "usage", REGISTRY: "usage"},
    "serving.*": {READER: "usage", OPERATOR: "usage", REGISTRY: "usage"},
    "data.ad_ctr_minute": {WRITER: "select insert update", REGISTRY: SEES},
    "data.ad_ctr_minute_v1": {REGISTRY: SEES},
    "data.client_spend_minute": {WRITER: "select insert update", REGISTRY: SEES},
    "data.quarantine": {WRITER: APPENDS, REGISTRY: "select delete"},
    "ops.accounting": OPERATORS,
    "ops.ad_ctr_minute": OPERATORS,
    "ops.audit": OPERATORS,
    "ops.batch_hours": OPERATORS,
    "ops.batches": OPERATORS,
    "ops.changes": OPERATORS,
    "ops.client_spend_minute": OPERATORS,
    "ops.drivers": OPERATORS,
    "ops.finite_programs": OPERATORS,
    "ops.generations": OPERATORS,
    "ops.leases": OPERATORS,
    "ops.pins": OPERATORS,
    "ops.progress": OPERATORS,
    "ops.quarantine": OPERATORS,
    "ops.reach": OPERATORS,
    "ops.red_lines": OPERATORS,
    "ops.releases": OPERATORS,
    "ops.replays": OPERATORS,
    "ops.segments": OPERATORS,
    "ops.versions": OPERATORS,
    "public.alembic_version": {},
    "reference.client": {OPERATOR: SEES, REGISTRY: "select insert update"},
    "reference.client_span": OPERATORS,
    "registry.audit": {REGISTRY: APPENDS},
    "registry.audit_audit_id_seq": {},
    "registry.batch": {WRITER: "select insert update", REGISTRY: "select delete"},
    "registry.batch_hour": {REGISTRY: APPENDS},
    "registry.batch_total": {REGISTRY: SEES},
    "registry.booked": {REGISTRY: SEES},
    "registry.change": {WRITER: "select update(marks)", REGISTRY: "select insert update"},
    "registry.completeness": {REGISTRY: SEES, WRITER: SEES},
    "registry.driver_start": {WRITER: f"{APPENDS} update(application_id)", REGISTRY: SEES},
    "registry.fence": {WRITER: "select update(epoch)", REGISTRY: "select insert update"},
    "registry.finite_program": {WRITER: "select update(ended_at,outcome)", REGISTRY: "select insert update"},
    "registry.generation": {WRITER: "select insert update delete", REGISTRY: SEES},
    "registry.heartbeat": {WRITER: "select insert update", REGISTRY: SEES},
    "registry.job_version": {WRITER: "select update(state,updated_at)", REGISTRY: "select insert update"},
    "registry.launch": {
        WRITER: "select update(claimed_at,claimed_by,ended_at,standby,standby_warm_at)",
        REGISTRY: "select insert update",
    },
    "registry.lease": {REGISTRY: "select insert update delete"},
    "registry.live_validation": {REGISTRY: "select insert update"},
    "registry.output": {WRITER: SEES, REGISTRY: SEES},
    "registry.pin": {REGISTRY: "select insert delete"},
    "registry.progress": {WRITER: "select insert update", REGISTRY: "select insert update"},
    "registry.reach": {REGISTRY: SEES},
    "registry.red_line": {WRITER: "select insert update delete", REGISTRY: "select insert update(detail) delete"},
    "registry.release": {REGISTRY: APPENDS},
    "registry.release_release_id_seq": {},
    "registry.replay": {
        REGISTRY: "select insert update(answer,answered_at,answered_by,ended_at,outcome,validated_at,validation)"
    },
    "registry.segment": {REGISTRY: "select insert update delete"},
    "serving.ad_ctr_minute": READERS,
    "serving.client_spend_day": READERS,
    "serving.freshness": READERS,
    "registry.add_rows_partition()": {REGISTRY: "execute"},
    "registry.add_to_totals()": EVERYBODY,
    "registry.end_older_drivers()": EVERYBODY,
    "registry.worked_flat_out()": EVERYBODY,
}
"""object -> role -> its rights; the owner has all. Who has no usage of a schema cannot use what others may execute."""
APPEND_ONLY = ("registry.audit", "registry.release", "ops.audit", "ops.releases")

_TABLES = """
select n.nspname || '.' || c.relname as name, r.rolname as role, concat_ws(' ',
    case when has_table_privilege(r.rolname, c.oid, 'select') then 'select' end,
    case when has_table_privilege(r.rolname, c.oid, 'insert') then 'insert' end,
    case when has_table_privilege(r.rolname, c.oid, 'update') then 'update'
        else (select 'update(' || string_agg(a.attname, ',' order by a.attname) || ')' from pg_attribute a
            where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
            and has_column_privilege(r.rolname, c.oid, a.attnum, 'update')) end,
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
