"""Remove what the state folder, the shared one and the store have kept for long enough, so that a stack can run for
years."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import psutil

from kappa.core.audit import Author, Entry
from kappa.core.installation import program_output
from kappa.core.installation.settings import Settings
from kappa.platform import Platform
from kappa.verbs.observation import living, open_changes
from kappa.verbs.replay.validation import made_at
from kappa.verbs.retire.old_files_plan import DAY, KEEP, Found, InUse, Keep, Kind, OldFiles, decide

ACTION = "retire.old_files"
FOLDERS = (
    (Kind.DRIVER, "spark/driver-*"),
    (Kind.EXECUTOR, "spark/app-*"),
    (Kind.CHANGE, "work/*"),
    (Kind.VALIDATION, "validations/*/*"),
    (Kind.LIVE_VALIDATION, "live_validations/*"),
    (Kind.DRAFT, "artifacts/.build-*"),
    (Kind.DRAFT, "environments/.build-*"),
)
"""Folders that go as a whole."""
SHARED = (Kind.CHANGE, Kind.VALIDATION, Kind.LIVE_VALIDATION, Kind.DRAFT)
"""Kinds that lie in the folder that all hosts share; the others are this host's."""
IN_STORE = (Kind.SCRATCH, Kind.VALIDATION, Kind.LIVE_VALIDATION)
"""Kinds that lie in the store; of validations those by older releases may lie in the shared folder instead."""
LOGS = "airflow/logs"
PARSED = "dag_processor"

Working = Callable[[], Iterable[Path]]
"""The folders in which processes of this machine work."""


def working() -> Iterator[Path]:
    """The working folder of each process that may be asked; a driver and an executor work in their own."""
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            yield Path(process.cwd())


def plan_old_files(platform: Platform, keep: Keep = KEEP, at_work: Working = working) -> OldFiles:
    """What has been kept for long enough. Changes nothing.

    The listing comes first: what begins to be used after it is new, and what is new stays.
    """
    found = [*listing(platform.settings), *scratch(platform), *reports(platform.settings)]
    return decide(found, in_use(platform, at_work), platform.clock.now(), keep)


def carry_out(platform: Platform, plan: OldFiles, by: Author, keep: Keep = KEEP) -> str:
    """Remove and cut; the sentence, which the audit has with number and bytes of each kind where anything went.

    Killed anywhere and run again it goes on with what is left.
    """
    home = platform.settings.home
    for one in plan.gone:
        if one.kind in IN_STORE:
            (platform.settings.store / one.path).delete()
        if one.kind is not Kind.SCRATCH:
            _remove(root(platform.settings, one.kind) / one.path)
    for one in plan.cut:
        program_output.cut(home / one.path, keep.output_bytes)
    _drop_empty(home / LOGS, platform.clock.now() - DAY)
    sentence = f"removed: {plan.sentence()}." if plan.gone or plan.cut else "no old files."
    if plan.gone or plan.cut:
        platform.registry.record(Entry(by, ACTION, None, None, {"sentence": sentence, **plan.to_json()}))
    return sentence


def root(settings: Settings, kind: Kind) -> Path:
    """What the paths of a kind are relative to."""
    return settings.shared if kind in SHARED else settings.home


def listing(settings: Settings) -> Iterator[Found]:
    """All that may grow old in this host's state folder and, where it is seen from here, in the shared one."""
    home = settings.home
    for kind, pattern in FOLDERS:
        place = root(settings, kind)
        yield from (_found(kind, place, folder) for folder in place.glob(pattern) if folder.is_dir())
    for name in program_output.NAMES:
        outputs = (*home.glob(f"spark/driver-*/{name}"), *home.glob(f"spark/app-*/*/{name}"))
        yield from (_found(Kind.OUTPUT, home, file) for file in outputs)
    for file in (home / LOGS).rglob("*"):
        if file.is_file() and not file.is_symlink():
            parsed = file.relative_to(home / LOGS).parts[0] == PARSED
            yield _found(Kind.PARSE_LOG if parsed else Kind.TASK_LOG, home, file)


def scratch(platform: Platform) -> Iterator[Found]:
    """What changes that have ended left in the store, where that is not the shared folder, in which it goes with its
    change's outcomes. What the registry knows no change of may be another installation's."""
    if platform.settings.stores_in_shared:
        return
    work = platform.settings.store / "work"
    for name in sorted(work.names()):
        with suppress(ValueError, LookupError):
            change = platform.registry.change(UUID(name))
            if change.has_ended:
                ended_at = datetime.fromisoformat(change.marks[change.phase])
                yield Found(Kind.SCRATCH, f"work/{name}", (work / name).size(), ended_at)


def reports(settings: Settings) -> Iterator[Found]:
    """What validations left in the store, where that is not the shared folder; when they did, their names say."""
    for kind, pattern in () if settings.stores_in_shared else FOLDERS:
        if kind not in IN_STORE:
            continue
        top, *below = pattern.split("/")
        sizes = Counter[str]()
        for name, file in (settings.store / top).files().items():
            sizes["/".join(name.split("/")[: len(below)])] += file.size
        for name, size in sorted(sizes.items()):
            with suppress(ValueError):
                yield Found(kind, f"{top}/{name}", size, made_at(name.rpartition("/")[2]))


def in_use(platform: Platform, at_work: Working = working) -> InUse:
    """What processes, open changes and replays and the evidence of releases need."""
    home = platform.settings.home
    versions = living(platform)
    keys = {(one.job, one.version) for one in versions}
    named = {
        *(f"work/{change.change_id}" for change in open_changes(platform, versions)),
        *_validations(platform),
        *_above(home, at_work()),
    }
    of = platform.registry.submissions()
    return InUse(frozenset(named), {driver: key for driver, key in of.items() if key in keys})


def _validations(platform: Platform) -> Iterator[str]:
    """The folders of validations that a release's evidence names, or that an open replay has come to."""
    kept = [release.evidence.get("validation") for release in platform.releases.releases()]
    kept += [replay.validation for replay in platform.releases.open_replays()]
    yield from (one["folder"] for one in kept if one and "folder" in one)


def _above(home: Path, folders: Iterable[Path]) -> Iterator[str]:
    """Each of the folders below the state folder, and those that it lies in, relative to it."""
    root = home.resolve()
    for folder in folders:
        if folder.is_relative_to(root):
            inner = folder.relative_to(root)
            yield from (str(path) for path in (inner, *inner.parents))


def _found(kind: Kind, home: Path, path: Path) -> Found:
    """A file or a folder as it is now; one that vanishes meanwhile has no bytes and is as old as can be."""
    sizes, times = 0, []
    for file in (path, *path.rglob("*")) if path.is_dir() else (path,):
        with suppress(FileNotFoundError):
            status = file.lstat()
            if not file.is_dir():
                sizes += status.st_size
                times.append(status.st_mtime)
    with suppress(FileNotFoundError):
        times = times or [path.lstat().st_mtime]
    return Found(kind, str(path.relative_to(home)), sizes, datetime.fromtimestamp(max(times, default=0), UTC))


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _drop_empty(logs: Path, since: datetime) -> None:
    """Remove the folders of runs and days that have no logs left; not those of today, which may be about to get some,
    nor the uppermost, of which there are few."""
    inner = (folder for folder in logs.glob("*/**/") if folder.parent != logs and folder != logs)
    for folder in sorted(inner, key=lambda folder: len(folder.parts), reverse=True):
        with suppress(OSError):
            if folder.stat().st_mtime < since.timestamp():
                folder.rmdir()
