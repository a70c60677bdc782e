"""A server that stands in for AWS on loopback: moto, and of MSK, which moto has in part, just what we ask of it.

Run by the Python that has moto: `uv tool run --from 'moto[server]==VERSION' python moto_server.py PORT`.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any
from urllib.parse import unquote

urls: Any = importlib.import_module("moto.kafka.urls")
models = importlib.import_module("moto.kafka.models")
responses = importlib.import_module("moto.kafka.responses")
server = importlib.import_module("moto.server")

CONFIGURATIONS: dict[str, dict[str, Any]] = {}
USERS: dict[str, list[str]] = {}


class Response(responses.KafkaResponse):  # type: ignore[misc, name-defined]
    """moto's answers for MSK, and those that it lacks. A cluster is there as soon as it is asked for, as it was asked
    for, and no broker is behind its addresses."""

    def create_cluster_v2(self) -> str:
        """As moto does, with all that was asked for, and ready."""
        told: dict[str, Any] = json.loads(super().create_cluster_v2())
        cluster, asked = self.kafka_backend.clusters[told["clusterArn"]], self._get_param("provisioned")
        cluster.state = "ACTIVE"
        cluster.client_authentication = asked["clientAuthentication"]
        cluster.encryption_info = asked["encryptionInfo"]
        cluster.configuration_info = asked["configurationInfo"]
        cluster.logging_info = asked["loggingInfo"]
        return json.dumps(told | {"state": "ACTIVE"})

    def create_cluster(self) -> str:
        """The older request, which the provider makes."""
        told: dict[str, Any] = json.loads(super().create_cluster())
        cluster = self.kafka_backend.clusters[told["clusterArn"]]
        cluster.state = "ACTIVE"
        for name in ("client_authentication", "encryption_info", "configuration_info", "logging_info"):
            first, *others = name.split("_")
            setattr(cluster, name, self._get_param(first + "".join(map(str.title, others))))
        return json.dumps(told | {"state": "ACTIVE"})

    def get_bootstrap_brokers(self) -> str:
        """Addresses that nobody answers at."""
        name = self._named("/clusters/").split("/")[-2]
        hosts = [f"b-{number}.{name}.kafka.invalid" for number in (1, 2, 3)]
        ports = {"SaslScram": 9096, "SaslIam": 9098}
        return json.dumps(
            {f"bootstrapBrokerString{kind}": ",".join(f"{h}:{p}" for h in hosts) for kind, p in ports.items()}
        )

    def create_configuration(self) -> str:
        """The first revision."""
        name = self._get_param("name")
        arn = f"arn:aws:kafka:{self.region}:{self.current_account}:configuration/{name}/0001"
        CONFIGURATIONS[arn] = {
            "arn": arn, "name": name, "description": self._get_param("description") or "", "state": "ACTIVE",
            "kafkaVersions": self._get_param("kafkaVersions"), "creationTime": "2026-01-01T00:00:00Z",
            "latestRevision": {"revision": 1, "description": "", "creationTime": "2026-01-01T00:00:00Z"},
            "serverProperties": self._get_param("serverProperties"),
        }  # fmt: skip
        return json.dumps({key: CONFIGURATIONS[arn][key] for key in ("arn", "name", "state", "latestRevision")})

    def describe_configuration(self) -> tuple[int, dict[str, str], str] | str:
        """As it was made."""
        return self._found(CONFIGURATIONS, self._named("/configurations/"))

    def describe_configuration_revision(self) -> tuple[int, dict[str, str], str] | str:
        """The only revision."""
        return self._found(CONFIGURATIONS, self._named("/configurations/").rpartition("/revisions/")[0])

    def delete_configuration(self) -> str:
        """Gone at once."""
        CONFIGURATIONS.pop(self._named("/configurations/"), None)
        return json.dumps({"state": "DELETING"})

    def batch_associate_scram_secret(self) -> str:
        """Users by the secrets that hold them."""
        arn = self._named("/clusters/")
        USERS[arn] = sorted({*USERS.get(arn, []), *self._get_param("secretArnList")})
        return json.dumps({"clusterArn": arn, "unprocessedScramSecrets": []})

    def batch_disassociate_scram_secret(self) -> str:
        """Users that are none any more."""
        arn = self._named("/clusters/")
        USERS[arn] = sorted({*USERS.get(arn, [])} - {*self._get_param("secretArnList")})
        return json.dumps({"clusterArn": arn, "unprocessedScramSecrets": []})

    def list_scram_secrets(self) -> str:
        """All users of a cluster."""
        return json.dumps({"secretArnList": USERS.get(self._named("/clusters/"), [])})

    def _named(self, after: str) -> str:
        path = unquote(self.parsed_url.path).split(after, 1)[1]
        return path.removesuffix("/bootstrap-brokers").removesuffix("/scram-secrets")

    def _found(self, there: dict[str, dict[str, Any]], arn: str) -> tuple[int, dict[str, str], str] | str:
        if arn in there:
            return json.dumps(there[arn])
        return 404, {"status": "404"}, json.dumps({"message": "not found"})


urls.url_paths = dict.fromkeys(urls.url_paths, Response.dispatch) | {
    "{0}/v1/configurations$": Response.dispatch,
    "{0}/v1/configurations/(?P<arn>.+)$": Response.dispatch,
}

# moto looks at no condition: what a policy of a bucket denies without TLS, it would deny altogether.
importlib.import_module("moto.s3.models").FakeBucket.get_permission = lambda *_: (
    importlib.import_module("moto.iam.access_control").PermissionResult.NEUTRAL
)

if __name__ == "__main__":
    server.main(["-H", "127.0.0.1", "-p", sys.argv[1]])
