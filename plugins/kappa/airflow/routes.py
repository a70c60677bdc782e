"""What Airflow's api-server serves below `/kappa`: which code of this project it has, and the console.

Airflow guards no route of a plugin; so the application itself asks for a sign-in on each, and the console for the right
to look at our DAGs. `airflow.api_fastapi.core_api.security` is no public interface: nothing else of ours imports it.
"""

from __future__ import annotations

from typing import Any

from airflow.api_fastapi.core_api.security import get_user, requires_access_dag
from fastapi import Depends, FastAPI

from kappa.airflow.installation import own_settings
from kappa.code import artifacts
from kappa.console import app as console
from kappa.core import environment
from kappa.core.verb_steps import Verb

MAY_LOOK = requires_access_dag("GET", param_dag_id=Verb.REPAIR.dag_id)
"""Whoever may look at the DAG that repairs our streams may look at the streams."""

app = FastAPI(
    title="Kappa Ads", docs_url=None, redoc_url=None, openapi_url=None, dependencies=[Depends(get_user)],
)  # fmt: skip
console.protect(app)
app.include_router(console.router(own_settings), dependencies=[Depends(MAY_LOOK)])


@app.get("/code")
def code() -> dict[str, Any]:
    """The digest that an artifact of this code has, and the versions that decide numbers beside it."""
    return {"digest": artifacts.checkout_digest(environment.OWN_CODE), "environment": environment.present()}
