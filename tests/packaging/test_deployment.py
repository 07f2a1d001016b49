"""The deployment files, checked against Kubernetes' schemas and against each other."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from memplan.api.cli.commands import make_command
from memplan.api.http.receiving import BODIES_HELD
from memplan.api.metrics import Metrics
from memplan.api.requests import max_bytes
from memplan.api.service.admission import MOST
from memplan.api.settings import PREFIX, Settings
from memplan.api.store.tables.jobs import JobCounts

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docker" / "kubernetes"
KUSTOMIZATION = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
COMPOSE = yaml.safe_load((ROOT / "docker" / "compose.yml").read_text())
OBJECTS = [
    (name, found) for name in KUSTOMIZATION["resources"] for found in yaml.safe_load_all((FOLDER / name).read_text())
]
COMPOSED = [service for service in COMPOSE["services"].values() if service["image"] == "memplan"]
PROMETHEUS = ROOT / "docker" / "prometheus"
GROUPS = yaml.safe_load((PROMETHEUS / "rules.yml").read_text())["groups"]
RULES = [rule for group in GROUPS for rule in group["rules"]]
DASHBOARD = json.loads((PROMETHEUS / "dashboard.json").read_text())
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
VERSIONS = ("1.29", "1.33", "1.37")
SECRETS = {"memplan": {"database-url", "admin-key"}}
"""Secrets that docs/operations.md tells the operator to create."""


def objects_of_kind(kind: str) -> dict[str, dict[str, Any]]:
    return {found["metadata"]["name"]: found for _, found in OBJECTS if found["kind"] == kind}


DEPLOYMENTS = objects_of_kind("Deployment")


def container(deployment: Mapping[str, Any]) -> dict[str, Any]:
    (only,) = deployment["spec"]["template"]["spec"]["containers"]
    return dict(only)


def mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from mappings(inner)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("name", "found"), OBJECTS, ids=lambda value: value if isinstance(value, str) else value["kind"]
)
def test_every_kubernetes_object_conforms_to_its_schema(name: str, found: dict[str, Any], version: str) -> None:
    kubernetes_validate.validate(found, version, strict=True)


def test_the_kustomization_lists_exactly_the_files_that_exist() -> None:
    assert {*KUSTOMIZATION["resources"], "kustomization.yaml"} == {path.name for path in FOLDER.iterdir()}
    assert KUSTOMIZATION["namespace"] in objects_of_kind("Namespace")


def test_no_kubernetes_object_is_duplicated() -> None:
    names = [(found["kind"], found["metadata"]["name"]) for _, found in OBJECTS]
    assert len(names) == len(set(names))


def test_the_kustomization_sets_the_image_of_every_deployment() -> None:
    images = {entry["name"] for entry in KUSTOMIZATION["images"]}
    assert {container(found)["image"] for found in DEPLOYMENTS.values()} == images


def test_every_config_map_and_secret_referenced_by_a_deployment_exists() -> None:
    generated = {entry["name"] for entry in KUSTOMIZATION["configMapGenerator"]}
    for found in DEPLOYMENTS.values():
        for inner in mappings(found):
            if "configMapRef" in inner:
                assert inner["configMapRef"]["name"] in generated
            if "secretKeyRef" in inner:
                assert inner["secretKeyRef"]["key"] in SECRETS[inner["secretKeyRef"]["name"]]
        volumes = {volume["name"] for volume in found["spec"]["template"]["spec"]["volumes"]}
        assert {mount["name"] for mount in container(found)["volumeMounts"]} == volumes
    assert all(f"--from-literal={key}=" in OPERATIONS for key in SECRETS["memplan"])


def test_every_selector_matches_its_pods() -> None:
    labels = {name: found["spec"]["template"]["metadata"]["labels"] for name, found in DEPLOYMENTS.items()}
    for name, found in DEPLOYMENTS.items():
        assert found["spec"]["selector"]["matchLabels"] == labels[name]
    for name, service in objects_of_kind("Service").items():
        assert service["spec"]["selector"] == labels[name]
        ports = {port["name"] for port in container(DEPLOYMENTS[name])["ports"]}
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports
    for name, policy in objects_of_kind("NetworkPolicy").items():
        assert policy["spec"]["podSelector"]["matchLabels"] == labels[name]
    for name, budget in objects_of_kind("PodDisruptionBudget").items():
        assert budget["spec"]["selector"]["matchLabels"] == labels[name]


def test_an_autoscaled_deployment_does_not_set_its_replica_count() -> None:
    for scaler in objects_of_kind("HorizontalPodAutoscaler").values():
        assert "replicas" not in DEPLOYMENTS[scaler["spec"]["scaleTargetRef"]["name"]]["spec"]
        (metric,) = scaler["spec"]["metrics"]
        name = metric["external"]["metric"]["name"]
        assert f"name: {{as: {name}}}" in OPERATIONS


def test_network_policies_block_platform_metadata_addresses_and_ingress_to_workers() -> None:
    for name, policy in objects_of_kind("NetworkPolicy").items():
        assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
        blocks = [to["ipBlock"] for rule in policy["spec"]["egress"] for to in rule.get("to", ()) if "ipBlock" in to]
        assert [block["cidr"] for block in blocks] == ["0.0.0.0/0", "::/0"]
        assert ("ingress" in policy["spec"]) == (name == "server")
        assert {"169.254.0.0/16", "100.100.100.200/32", "168.63.129.16/32"} <= set(blocks[0]["except"])


def test_every_pod_has_a_network_policy_and_no_privileges() -> None:
    assert set(objects_of_kind("NetworkPolicy")) == set(DEPLOYMENTS)
    for found in DEPLOYMENTS.values():
        pod = found["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert not pod["automountServiceAccountToken"]
        rights = container(found)["securityContext"]
        assert rights["readOnlyRootFilesystem"]
        assert not rights["allowPrivilegeEscalation"]
        assert rights["capabilities"] == {"drop": ["ALL"]}
        assert "memory" in container(found)["resources"]["limits"]


def settings_of(said: Mapping[str, str]) -> Settings:
    given: dict[str, Any] = {name.removeprefix(PREFIX).lower(): value for name, value in said.items()}
    return Settings(**{name: value for name, value in given.items() if name not in ("database_url", "admin_key")})


def containers() -> Iterator[tuple[str, Settings, int, int]]:
    """Yield each memplan container: command, settings, memory limit, and maximum bytes of its in-memory files."""
    literals = dict(text.split("=", 1) for text in KUSTOMIZATION["configMapGenerator"][0]["literals"])
    for pod in map(container, DEPLOYMENTS.values()):
        said = literals | {one["name"]: one["value"] for one in pod["env"] if "value" in one}
        yield pod["args"][0], settings_of(said), byte_count(pod["resources"]["limits"]["memory"]), 0
    for service in COMPOSED:
        (place,) = service["tmpfs"]
        limit = byte_count(service["deploy"]["resources"]["limits"]["memory"])
        yield service["command"][0], settings_of(service["environment"]), limit, byte_count(place.split("size=")[1])


def byte_count(text: str) -> int:
    count, unit = re.fullmatch(r"(\d+)([MG])i?", text.upper().replace("I", "i"), re.ASCII).groups()  # type: ignore[union-attr]
    return int(count) << {"M": 20, "G": 30}[unit]  # docker's G is Kubernetes' Gi


def memory_limit(command: str, settings: Settings, *, of_key: bool) -> int:
    """Return the memory bound of docs/operations.md, in bytes, for requests of one key or of all keys together."""
    assert settings.worker_memory_bytes is not None
    if command == "worker":  # with all keys, also one job of another key
        jobs = settings.workers + (not of_key)
        return OWN_BYTES // 2 + jobs * (max_bytes("model", settings) + settings.worker_memory_bytes)
    bodies = BODIES_HELD * settings.max_body_bytes // (2 if of_key else 1)
    at_once = 1 + MOST * (settings.solves + (not of_key))  # one extra child process reads a large body
    return OWN_BYTES + bodies + at_once * settings.worker_memory_bytes


OWN_BYTES = 400_000_000
"""Bytes of a server with its template process and caches, without requests."""


def test_requests_of_one_key_use_at_most_60_percent_of_a_containers_memory() -> None:
    found = list(containers())
    assert sorted(command for command, *_ in found) == ["serve", "serve", "worker", "worker"]
    for command, settings, limit, in_memory in found:
        assert memory_limit(command, settings, of_key=True) + in_memory < 0.6 * limit, (command, limit)
        assert memory_limit(command, settings, of_key=False) + in_memory < limit, (command, limit)


def test_the_operations_page_states_the_formulas_of_server_memory() -> None:
    pages = " ".join(OPERATIONS.split())
    own, model = f"{OWN_BYTES / 1e9:g} GB", max_bytes("model", Settings(max_body_bytes=1))
    assert f"`{own} + {BODIES_HELD // 2} B + (1 + {MOST} S) W`" in pages
    assert f"`{own} + {BODIES_HELD} B + (1 + {MOST} (S + 1)) W`" in pages
    assert f"`{OWN_BYTES / 2e9:g} GB + J ({model} B + W)`" in pages


def test_every_compose_service_limits_memory_and_tmpfs_size() -> None:
    for service in COMPOSE["services"].values():
        assert "memory" in service["deploy"]["resources"]["limits"]
        assert all("size=" in place for place in service.get("tmpfs", ()))


def test_kubernetes_probes_use_healthz_and_readyz() -> None:
    server = container(DEPLOYMENTS["server"])
    probes = {name: server[name]["httpGet"]["path"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert probes == {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}


def test_deployed_servers_require_keys() -> None:
    for arguments in (container(DEPLOYMENTS["server"])["args"], COMPOSE["services"]["server"]["command"]):
        assert arguments[0] == "serve"
        assert "--without-keys" not in arguments


def test_container_start_commands_use_existing_flags() -> None:
    for started in (
        *(container(found)["args"] for found in DEPLOYMENTS.values()),
        *(one["command"] for one in COMPOSED),
    ):
        known = {flag for each in make_command(started[0]).params for flag in each.opts}
        assert [text for text in started if text.startswith("--") and text not in known] == []


def test_every_environment_variable_of_a_container_is_a_setting() -> None:
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    said = {text.partition("=")[0] for text in KUSTOMIZATION["configMapGenerator"][0]["literals"]}
    for found in DEPLOYMENTS.values():
        said |= {entry["name"] for entry in container(found).get("env", ())}
    for service in COMPOSED:
        said |= service.get("environment", {}).keys()
    assert said <= known


def test_compose_refers_only_to_defined_services_networks_and_volumes() -> None:
    services = COMPOSE["services"]
    for service in services.values():
        assert set(service.get("depends_on", ())) <= services.keys()
        assert set(service["networks"]) <= COMPOSE["networks"].keys()
        assert {text.partition(":")[0] for text in service.get("volumes", ())} <= COMPOSE["volumes"].keys()
    assert "@postgres/" in services["server"]["environment"]["MEMPLAN_DATABASE_URL"]
    assert "@postgres/" in services["worker"]["environment"]["MEMPLAN_DATABASE_URL"]


def test_only_the_compose_server_is_reachable_from_outside() -> None:
    assert COMPOSE["networks"]["inside"] == {"internal": True}
    reached = {name for name, row in COMPOSE["services"].items() if "ports" in row or "outside" in row["networks"]}
    assert reached == {"server"}


def test_every_prometheus_alert_has_a_firing_and_a_silent_test() -> None:
    tests = yaml.safe_load((PROMETHEUS / "rules_test.yml").read_text())["tests"]
    tried = {(one["alertname"], bool(one["exp_alerts"])) for test in tests for one in test["alert_rule_test"]}
    assert tried == {(rule["alert"], rings) for rule in RULES for rings in (True, False)}


@pytest.mark.slow
def test_promtool_accepts_the_alert_rules_and_their_tests() -> None:
    if (program := shutil.which("promtool")) is None:
        pytest.skip("promtool, which Debian's package prometheus brings, is not installed")
    for words in (["check", "rules", "rules.yml"], ["test", "rules", "rules_test.yml"]):
        done = subprocess.run([program, *words], cwd=PROMETHEUS, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_authenticates_with_a_key_and_its_alerts_use_existing_metrics() -> None:
    monitor = yaml.safe_load((PROMETHEUS / "monitor.yaml").read_text())
    (endpoint,) = monitor["spec"]["endpoints"]
    (service,) = objects_of_kind("Service").values()
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert endpoint["port"] in {port["name"] for port in service["spec"]["ports"]}
    assert f"`{endpoint['authorization']['credentials']['key']}`" in OPERATIONS
    exposed = Metrics().render(JobCounts({}, {}, 0, 0.0, 0), {}).decode()
    drawn = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    for expression in (*(rule["expr"] for rule in RULES), *drawn):
        named = re.findall(r"\bmemplan_\w+", expression)
        assert named or expression == 'absent(up{job="memplan"} == 1)'
        for name in named:
            metric = re.sub("_(bucket|sum|count)$", "", name)
            assert metric in OPERATIONS, name
            assert f"# TYPE {metric} " in exposed, name


def test_the_dashboard_has_the_fields_that_grafana_reads() -> None:
    assert {"title", "uid", "schemaVersion", "templating", "time", "panels"} <= DASHBOARD.keys()
    (source,) = DASHBOARD["templating"]["list"]
    panels = DASHBOARD["panels"]
    picture = (ROOT / "docs" / "dashboard.svg").read_text()
    assert [panel["title"] for panel in panels if f">{panel['title']}</text>" not in picture] == []
    assert (source["name"], source["type"], len({panel["id"] for panel in panels})) == ("source", "datasource", 12)
    places = {(at["x"] + x, at["y"] + y) for at in (p["gridPos"] for p in panels) for x in range(8) for y in range(7)}
    assert len(places) == 12 * 56, "panels must not overlap"
    assert max(x for x, _ in places) < 24
    for panel in panels:
        assert (panel["type"], panel["datasource"]["uid"]) == ("timeseries", "${source}")
        assert [target["refId"] for target in panel["targets"]] == list("ABC"[: len(panel["targets"])])
