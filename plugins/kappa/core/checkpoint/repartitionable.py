"""Which state can be repartitioned."""

from __future__ import annotations

from collections.abc import Iterable

from kappa.core.refusals import Refusal

SUPPORTED_PROVIDER = "RocksDBStateStoreProvider"
SUPPORTED_OPERATORS = frozenset({"stateStoreSave", "dedupe", "dedupeWithinWatermark"})
"""What can be repartitioned, by Spark's names: seen to give the same results as a run that never was. A join or a limit
was seen to spoil the checkpoint."""


class UnsupportedProvider(Refusal):
    """The state is not kept in RocksDB; the provider is pinned by the checkpoint's first batch, and Spark would spoil
    the checkpoint by trying."""

    def __init__(self, job: str, version: str, provider: str) -> None:
        super().__init__(
            f"the state of {job} {version} is kept by {provider or 'no provider'}; only that of {SUPPORTED_PROVIDER} "
            "can be repartitioned. Nothing was changed. Replay the log into a new version: "
            f"./kappa reprocess {job} --from earliest."
        )


class UnsupportedOperator(Refusal):
    """The repartition of this stateful operator was never proven to give the same results."""

    def __init__(self, job: str, version: str, operator: str) -> None:
        super().__init__(
            f"{job} {version} has the stateful operator {operator}, which is not among those whose repartition is "
            f"proven ({', '.join(sorted(SUPPORTED_OPERATORS))}, each with a key). Nothing was changed. Its cores can "
            f"be rescaled: ./kappa rescale {job} --cores N."
        )


def check_repartitionable(job: str, version: str, provider: str, operators: Iterable[str]) -> None:
    """Pass when state that a provider keeps for these operators can be repartitioned: Spark finds out only after it
    has spoilt the checkpoint. Raises UnsupportedProvider, UnsupportedOperator."""
    if not provider.endswith(f".{SUPPORTED_PROVIDER}"):
        raise UnsupportedProvider(job, version, provider)
    for operator in operators:
        if operator not in SUPPORTED_OPERATORS:
            raise UnsupportedOperator(job, version, operator)
