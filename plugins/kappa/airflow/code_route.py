"""`GET /kappa/code` on Airflow's api-server: which code of this project it has, for whoever is signed in."""

from __future__ import annotations

from typing import Any

from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import FastAPI

from kappa.code import artifacts
from kappa.core import environment

app = FastAPI(title="Kappa Ads", docs_url=None, redoc_url=None, openapi_url=None)


@app.get("/code")
def code(user: GetUserDep) -> dict[str, Any]:
    """The digest that an artifact of this code has, and the versions that decide numbers beside it."""
    return {"digest": artifacts.checkout_digest(environment.OWN_CODE), "environment": environment.present()}
