"""Airflow's home for these tests, a throw-away folder, named before Airflow is first imported; server, browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

import tests.rigs.airflow_home  # noqa: F401
from cli.entry import CHECKOUT
from tests.rigs.api_server import ApiServer, api_server
from tests.rigs.browser import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with api_server(tmp_path_factory.mktemp("airflow"), CHECKOUT) as started:
        yield started
