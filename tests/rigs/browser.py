"""A headless Chromium that looks at pages, and what it holds against them; tests skip where there is none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync",
    "--disable-component-update",
)  # fmt: skip
WAIT_MS = 60_000
"""The longest that anything on a page is waited for; on a busy machine Airflow's own pages take half a minute."""
SCHEMES = ("light", "dark")
WIDE, NARROW = (1280, 900), (400, 800)
PICTURES = "KAPPA_PICTURES"
"""A folder that this variable names gets a picture of each page that a test looked at."""


@dataclass
class Looked:
    """A page that is looked at; `wrong` are errors of scripts, violations of the policy, failed requests, dialogs."""

    page: Page
    wrong: list[str] = field(default_factory=list)

    def listen(self) -> None:
        """Write down from now on what goes wrong."""
        self.page.on("console", lambda said: self.wrong.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("requestfailed", self._failed)
        self.page.on("dialog", self._dialog)

    def _failed(self, request: Any) -> None:
        """What is on its way when somebody goes to another page is aborted, which is nobody's fault."""
        if not str(request.failure).endswith("ERR_ABORTED"):
            self.wrong.append(f"{request.url}: {request.failure}")

    def _dialog(self, dialog: Any) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def against_access(self) -> list[str]:
        """What axe-core finds that keeps people out: rule and element each."""
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(self.page).response["violations"]
        return [f"{rule['id']}: {node['html'][:160]}" for rule in found for node in rule["nodes"]]

    def picture(self, name: str) -> None:
        """Keep a picture, where somebody wants them."""
        if folder := os.environ.get(PICTURES):
            self.page.screenshot(path=f"{folder}/{name}.png", full_page=True)


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser, for as long as the body runs. Skips the test where it, or what drives it, is not installed."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    driver = pytest.importorskip("playwright.sync_api", reason="no driver of browsers: uv sync --group browser")
    flags = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with driver.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=flags)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def looking(
    browser: Browser, scheme: str = "light", size: tuple[int, int] = WIDE, cookie: dict[str, Any] | None = None
) -> Iterator[Looked]:
    """A page of a context of its own."""
    context = browser.new_context(color_scheme=scheme, viewport={"width": size[0], "height": size[1]})
    context.set_default_timeout(WAIT_MS)
    if cookie:
        context.add_cookies([cookie])
    looked = Looked(context.new_page())
    looked.listen()
    try:
        yield looked
    finally:
        context.close()
