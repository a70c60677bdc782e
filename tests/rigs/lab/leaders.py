"""Who leads in a lab: one of Spark's masters, and of the brokers the one that leads most partitions."""

from __future__ import annotations

from collections import Counter
from contextlib import closing, suppress
from urllib.parse import urlsplit

import httpx
from kafka import KafkaAdminClient

from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.kafka_client import connected
from kappa.core.installation.settings import Settings
from kappa.signed_requests import signature


def master(settings: Settings) -> str | None:
    """The host of the master that leads; None where none says so."""
    for url in settings.spark_ui:
        with suppress(httpx.HTTPError):
            page = httpx.get(f"{url}/json/", headers=signature(settings.spark_key), timeout=5, trust_env=False)
            if page.json()["status"] == "ALIVE":
                return urlsplit(url).hostname
    return None


def broker(settings: Settings) -> int:
    """The id of the broker that leads most partitions of the topic."""
    with closing(connected(settings.kafka_access(KafkaUser.ADMIN), KafkaAdminClient)) as admin:
        (topic,) = admin.describe_topics([settings.topic.name])
    leads = Counter(int(partition["leader_id"]) for partition in topic["partitions"])
    return leads.most_common(1)[0][0]
