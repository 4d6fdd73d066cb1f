from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import httpx
import pytest
from conftest import Service

from rms_client import Rms

README = pathlib.Path(__file__).parents[1] / "README.md"
CODE = "\n".join(re.findall(r"^```python\n(.*?)^```$", README.read_text("utf-8"), re.MULTILINE | re.DOTALL))
SECRET = base64.b64encode(b"a" * 32).decode()


def test_the_examples_pass_mypy(tmp_path: pathlib.Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(CODE, "utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(program)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_samples_of_the_api_reference_pass_mypy(service: Service, tmp_path: pathlib.Path) -> None:
    paths = httpx.get(f"{service['url']}/openapi.json").json()["paths"]
    for operation in (operation for item in paths.values() for operation in item.values()):
        (sample,) = (sample for sample in operation["x-codeSamples"] if sample["lang"] == "Python")
        (tmp_path / f"{operation['operationId']}.py").write_text(sample["source"] + "\n", "utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_examples_run(
    service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Rms(**service) as rms:
        rms.resources.create({"name": "Order 6"})
        for _ in rms.events.feed(follow=True, poll_interval=0.05):
            break
    monkeypatch.setitem(os.environ, "WEBHOOK_SECRET", f"whsec_{SECRET}")
    names: dict[str, object] = {}
    exec(compile(CODE, str(README), "exec"), names)
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"res_\w+ active", lines[0])
    assert lines.count("Order 7") == 2
    assert {"has changed", "['name']"} <= set(lines)
    # Events of API keys come first.
    assert any(re.fullmatch(r"resource\.created [1-9]", line) for line in lines)

    receive = names["receive"]
    assert callable(receive)
    body = json.dumps({"type": "resource.created", "data": {"object": {"name": "Grüße"}}}).encode()
    timestamp = str(int(time.time()))
    digest = hmac.digest(b"a" * 32, f"evt_1.{timestamp}.".encode() + body, hashlib.sha256)
    signature = f"v1,{base64.b64encode(digest).decode()}"
    headers = {"webhook-id": "evt_1", "webhook-timestamp": timestamp, "webhook-signature": signature}
    assert (receive(headers, body), receive(headers, body + b" ")) == (200, 401)
    assert capsys.readouterr().out == "created Grüße\n"
