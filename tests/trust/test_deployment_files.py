"""Deployment files: the Helm chart, the systemd unit and the configuration of HAProxy.

Helm's own library renders the chart, and Kubernetes' schemas accept the result. The unit
and the configuration are checked by systemd and HAProxy. Nothing is deployed here.
"""

import itertools
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.project import ROOT

helm = pytest.importorskip("helm_python", reason="make trust installs it")
kubernetes = pytest.importorskip("kubernetes_validate", reason="make trust installs it")
yaml = pytest.importorskip("yaml", reason="make trust installs it")

pytestmark = pytest.mark.trust

CHART: Final = ROOT / "deploy" / "helm" / "productrecs"
UNIT: Final = ROOT / "deploy" / "systemd" / "productrecs.service"
PROXY: Final = ROOT / "deploy" / "haproxy" / "haproxy.cfg"
EXPOSURE: Final = 20  # of 100, by systemd's own table
RELEASES: Final = ("1.27", "1.30", "1.33")
DATABASE: Final = {"database": {"url": "postgresql://user:password@host/name"}}
OWN_SECRET: Final = {"database": {"existingSecret": "ours", "key": "address"}}
CHOICES: Final[dict[str, dict[str, Any]]] = {
    "the least": DATABASE,
    "a secret of their own": OWN_SECRET,
    "an object store": {**DATABASE, "objects": "s3://bucket/recs", "extraSecret": "keys"},
    "everything": {
        **DATABASE,
        "image": {"repository": "registry.example/recs", "tag": "1", "pullSecrets": ["a"]},
        "baseUrl": "https://recs.example.com",
        "settings": {"PRODUCTRECS_CONNECTIONS": 100},
        "extraSecret": "more",
        "api": {"replicas": 5, "workers": 4, "nodeSelector": {"disk": "fast"}},
        "worker": {"replicas": 2, "tolerations": [{"key": "batch", "operator": "Exists"}]},
        "data": {"storageClass": "files", "size": "100Gi"},
        "ingress": {"enabled": True, "host": "recs.example.com", "tlsSecret": "cert"},
        "monitoring": {"enabled": True, "labels": {"release": "prometheus"}},
    },
}


def rendered(values: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the objects that `helm install` would create."""
    with helm.Chart.load(CHART) as chart:
        files = chart.render(values, name="shop", namespace="shops", is_install=True)
    found = itertools.chain.from_iterable(map(yaml.safe_load_all, files.values()))
    return [one for one in found if one]


def pods(objects: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the specification of each kind of pod."""
    for one in objects:
        if one["kind"] in {"Deployment", "Job"}:
            yield one["metadata"]["name"], one["spec"]["template"]["spec"]


def weaknesses(pod: dict[str, Any]) -> list[str]:
    """Return what a pod may do that none of ours needs."""
    whole, (container,) = pod["securityContext"], pod["containers"]
    own = container["securityContext"]
    wanted = {
        "may be root": whole.get("runAsNonRoot") is True and whole.get("runAsUser", 0) > 0,
        "any system call": whole.get("seccompProfile") == {"type": "RuntimeDefault"},
        "writable root": own.get("readOnlyRootFilesystem") is True,
        "may gain rights": own.get("allowPrivilegeEscalation") is False,
        "capabilities": own.get("capabilities") == {"drop": ["ALL"]},
        "reads the cluster": pod.get("automountServiceAccountToken") is False,
        "memory without end": "memory" in container["resources"]["limits"],
    }
    return [name for name, holds in wanted.items() if not holds]


def test_helm_finds_no_fault_with_the_chart() -> None:
    found = helm.lint(CHART, values=DATABASE)

    assert found["errors"] == []
    assert [one["error"] for one in found["messages"]] == ["icon is recommended"]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("choice", CHOICES)
def test_kubernetes_accepts_what_is_rendered(choice: str, release: str) -> None:
    objects = rendered(CHOICES[choice])

    kinds = [one["kind"] for one in objects]
    assert {"Deployment", "Service", "PodDisruptionBudget", "Job"} <= {*kinds}
    assert ("Secret" in kinds) is ("url" in CHOICES[choice]["database"])
    assert ("PersistentVolumeClaim" in kinds) is ("objects" not in CHOICES[choice])
    assert ("ServiceMonitor" in kinds) is ("monitoring" in CHOICES[choice])
    for one in objects:
        if one["kind"] != "ServiceMonitor":  # a kind of the operator of Prometheus
            kubernetes.validate(one, release, strict=True)


@pytest.mark.parametrize("choice", CHOICES)
def test_every_pod_is_restricted_and_sees_the_database(choice: str) -> None:
    values = CHOICES[choice]["database"]

    found = dict(pods(rendered(CHOICES[choice])))

    assert len(found) == 3
    for pod in found.values():
        assert weaknesses(pod) == []
        (container,) = pod["containers"]
        key = values.get("key", "DATABASE_URL")
        address = {"name": "DATABASE_URL_FILE", "value": f"/run/secrets/database/{key}"}
        assert address in container["env"]
        mounted = {one["name"] for one in container["volumeMounts"]}
        assert mounted == {one["name"] for one in pod["volumes"]}


def test_requests_are_drained_and_probed_and_the_service_finds_the_pods() -> None:
    objects = {
        f"{one['kind']} {one['metadata']['name']}": one for one in rendered(DATABASE)
    }
    api = objects["Deployment shop-productrecs-api"]["spec"]
    labels = api["template"]["metadata"]["labels"]
    pod = api["template"]["spec"]

    probes = {
        kind: pod["containers"][0][f"{kind}Probe"]["httpGet"]["path"]
        for kind in ("startup", "liveness", "readiness")
    }
    assert probes == {
        "startup": "/health/live",
        "liveness": "/health/live",
        "readiness": "/health/ready",
    }
    pause = int(pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pod["terminationGracePeriodSeconds"] >= pause + 45
    for name in ("Service shop-productrecs", "PodDisruptionBudget shop-productrecs-api"):
        selector = objects[name]["spec"]["selector"]
        assert (selector.get("matchLabels") or selector).items() <= labels.items()
    hook = objects["Job shop-productrecs-migrate"]["metadata"]["annotations"][
        "helm.sh/hook"
    ]
    assert hook == "pre-install,pre-upgrade"


def test_pods_start_anew_when_the_address_of_the_database_changes() -> None:
    other = {"database": {"url": DATABASE["database"]["url"] + "2"}}

    first, second = (
        [
            one["spec"]["template"]["metadata"].get("annotations")
            for one in rendered(values)
            if one["kind"] == "Deployment"
        ]
        for values in (DATABASE, other)
    )

    assert len(first) == 2
    assert None not in first
    assert all(before != after for before, after in zip(first, second, strict=True))


def test_prometheus_asks_with_the_token_of_the_secret() -> None:
    objects = rendered(CHOICES["everything"])
    (monitor,) = (one["spec"] for one in objects if one["kind"] == "ServiceMonitor")
    (service,) = (one for one in objects if one["kind"] == "Service")

    (endpoint,) = monitor["endpoints"]
    assert (
        monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    )
    assert endpoint["port"] in {one["name"] for one in service["spec"]["ports"]}
    token = endpoint["authorization"]["credentials"]
    assert token == {"name": "more", "key": "PRODUCTRECS_METRICS_TOKEN"}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "set database.existingSecret or database.url"),
        ({"database": {"url": "sqlite:///x"}}, "does not match pattern"),
        (DATABASE | {"apis": 1}, "'apis' not allowed"),
        (DATABASE | {"api": {"replicas": 0}}, "minimum"),
        (DATABASE | {"settings": {"DATABASE_URL": "x"}}, "does not match pattern"),
        (DATABASE | {"objects": "bucket"}, "does not match pattern"),
        (DATABASE | {"ingress": {"enabled": True}}, "set ingress.host"),
        (DATABASE | {"monitoring": {"enabled": True}}, "set extraSecret"),
    ],
)
def test_wrong_values_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(helm.HelmError, match=message):
        rendered(values)


def test_control_a_wrong_field_and_an_open_pod_are_caught() -> None:
    objects = rendered(DATABASE)
    api = next(one for one in objects if one["kind"] == "Deployment")
    pod = api["spec"]["template"]["spec"]

    pod["containers"][0]["securityContext"] = {}
    api["spec"]["replica"] = 2

    assert len(weaknesses(pod)) == 3
    with pytest.raises(kubernetes.ValidationError):
        kubernetes.validate(api, RELEASES[0], strict=True)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("compose.yaml", "productrecs"),
        *(("compose.replicas.yaml", n) for n in ("api", "worker")),
    ],
)
def test_compose_gives_the_container_every_setting_of_its_file(
    file: str, name: str
) -> None:
    service = yaml.safe_load((ROOT / "deploy/docker" / file).read_text())["services"][name]

    own = {"PRODUCTRECS_DATA", "PRODUCTRECS_HOST", "PRODUCTRECS_PORT", "DATABASE_URL"}
    assert service["env_file"] == [{"path": ".env", "required": False}]
    for setting, value in service["environment"].items():
        # What stands here wins over the file: only the container's own, or a default.
        assert setting in own or value.startswith(f"${{{setting}:-")


def checked(program: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a program of the system on a file; skip the test where it is missing."""
    found = shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin")
    if found is None:
        pytest.skip(f"{program} is not installed")
    return subprocess.run([found, *words], check=False, capture_output=True, text=True)


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """Return the unit with a program that exists on this machine."""
    file = tmp_path / UNIT.name
    file.write_text(
        UNIT.read_text().replace("/opt/productrecs/bin/productrecs", "/bin/true")
    )
    return file


def test_systemd_accepts_the_unit_and_finds_it_confined(unit: Path) -> None:
    found = checked("systemd-analyze", "verify", str(unit))
    confined = ("security", "--offline=yes", f"--threshold={EXPOSURE}", str(unit))

    assert (found.returncode, found.stderr) == (0, "")
    assert checked("systemd-analyze", *confined).returncode == 0


def test_control_an_unknown_option_and_an_open_unit_are_caught(unit: Path) -> None:
    text = unit.read_text()
    unit.write_text(text.replace("ProtectSystem=strict", "ProtectSystems=strict"))
    misspelt = checked("systemd-analyze", "verify", str(unit))
    unit.write_text("[Service]\nExecStart=/bin/true\n")
    confined = ("security", "--offline=yes", f"--threshold={EXPOSURE}", str(unit))

    assert "ProtectSystems" in misspelt.stderr
    assert checked("systemd-analyze", *confined).returncode != 0


@pytest.mark.parametrize("where", ["on machines", "in containers"])
def test_haproxy_accepts_its_configuration(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if where == "in containers":
        file = ROOT / "deploy" / "docker" / "compose.replicas.yaml"
        proxy = yaml.safe_load(file.read_text())["services"]["proxy"]
        assert PROXY.samefile(file.parent / proxy["volumes"][0].split(":")[0])
        for name, value in proxy["environment"].items():
            monkeypatch.setenv(name, value)

    assert checked("haproxy", "-c", "-f", str(PROXY)).returncode == 0
