"""The steps around a lease: one holder, a dead one makes way, waiting where it is asked for."""

from __future__ import annotations

import pytest

from kappa.core.audit import Author
from kappa.core.versions import Lease
from kappa.registry.port import UnderWay
from kappa.verbs import lease
from tests.plugins.conftest import Stage

OTHER = Author("other", "run-2", "needs it")


def alive(_: Lease) -> bool:
    return False


def ended(_: Lease) -> bool:
    return True


def test_the_second_run_is_refused_and_told_who_holds_the_job(stage: Stage, author: Author) -> None:
    lease.take(stage.platform, "rescale", "ad_ctr", author, 900, 0, alive)
    holder = r"ad_ctr v1 is held by a rescale of tester \(because\), run run-1, until \d{4}-\d\d-\d\d \d\d:\d\d UTC"
    with pytest.raises(UnderWay, match=holder):
        lease.take(stage.platform, "stop", "ad_ctr", OTHER, 900, 0, alive)


def test_the_second_run_may_wait_for_the_first_to_give_it_back(stage: Stage, author: Author) -> None:
    lease.take(stage.platform, "rescale", "ad_ctr", author, 900, 0, alive)
    stage.clock.meanwhile.append(lambda: lease.release(stage.platform, author))
    assert lease.take(stage.platform, "stop", "ad_ctr", OTHER, 900, 60, alive).run_id == "run-2"


def test_what_a_dead_run_holds_is_taken_over_and_the_audit_says_so(stage: Stage, author: Author) -> None:
    lease.take(stage.platform, "rescale", "ad_ctr", author, 900, 0, alive)
    assert lease.take(stage.platform, "stop", "ad_ctr", OTHER, 900, 0, ended).run_id == "run-2"
    assert [e.action for e in stage.registry.entries("run-2")].count("lease.taken_over") == 1


def test_a_step_of_a_run_that_lost_the_job_does_not_act(stage: Stage, author: Author) -> None:
    lease.take(stage.platform, "rescale", "ad_ctr", author, 900, 0, alive)
    lease.check(stage.platform, "ad_ctr", 1, author)
    lease.take(stage.platform, "stop", "ad_ctr", OTHER, 900, 0, ended)
    with pytest.raises(lease.NotHolder, match="run run-1 does not hold ad_ctr v1"):
        lease.check(stage.platform, "ad_ctr", 1, author)
    lease.release(stage.platform, OTHER)
    with pytest.raises(lease.NotHolder, match="nobody holds it"):
        lease.check(stage.platform, "ad_ctr", 1, author)


def test_what_is_held_is_renewed_and_what_ran_out_is_not(stage: Stage, author: Author) -> None:
    lease.take(stage.platform, "rollback", "ad_ctr", author, 600, 0, alive)
    stage.clock.sleep(599)
    lease.renew(stage.platform, "rollback", {"ad_ctr": 1}, author, 600)
    stage.clock.sleep(599)
    lease.check(stage.platform, "ad_ctr", 1, author)
    stage.clock.sleep(1)
    with pytest.raises(lease.NotHolder, match="nobody holds it"):
        lease.renew(stage.platform, "rollback", {"ad_ctr": 1}, author, 600)
