"""`pin`: who keeps a version, and that doing it twice is said to have changed nothing."""

from __future__ import annotations

import pytest
import typer

from cli import options
from cli.commands.lifecycle import pin
from kappa.core.audit import Author
from kappa.core.installation.settings import Settings
from kappa.platform import Platform
from kappa.registry.port import UnknownVersion
from tests.plugins.fake_releases import FakeReleases
from tests.plugins.fakes import FakeCluster, FakeLog, FakeRegistry
from tests.plugins.replay_plans import live

BY = Author("ada", "pin-1", "for the audit")


@pytest.fixture
def platform(settings: Settings) -> Platform:
    """A stack with ad_ctr v4."""
    registry = FakeRegistry()
    registry.stage(live("ad_ctr", 4), BY, {})
    log = FakeLog({0: 0}, {0: []})
    return Platform(settings, registry, FakeCluster(registry), log.opened, registry.clock, FakeReleases(registry))


def test_a_pinned_version_is_kept_until_the_pin_is_taken_away(platform: Platform) -> None:
    assert "is pinned" in pin.pinned(platform, "ad_ctr", 4, BY)
    assert platform.releases.pins() == {("ad_ctr", 4)}
    assert "no longer pinned" in pin.taken_away(platform, "ad_ctr", 4, BY)
    assert platform.releases.pins() == set()


def test_the_second_time_changes_nothing_and_says_so(platform: Platform) -> None:
    assert "was not pinned; nothing was changed" in pin.taken_away(platform, "ad_ctr", 4, BY)
    pin.pinned(platform, "ad_ctr", 4, BY)
    assert "was pinned already; nothing was changed" in pin.pinned(platform, "ad_ctr", 4, BY)


@pytest.mark.parametrize("act", [pin.pinned, pin.taken_away])
def test_a_version_that_is_not_there_is_named(platform: Platform, act: object) -> None:
    with pytest.raises(UnknownVersion):
        act(platform, "ad_ctr", 9, BY)  # type: ignore[operator]


def test_a_version_is_a_number_with_or_without_a_v() -> None:
    assert (options.version_number("2"), options.version_number("v12")) == (2, 12)
    for wrong in ("", "v", "two", "-1", "2.0", "²"):
        with pytest.raises(typer.BadParameter):
            options.version_number(wrong)
