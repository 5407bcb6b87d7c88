"""The steps of examples/ci/github.yml, run as the service would run them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def git(folder: Path, *arguments: str) -> None:
    person = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
    subprocess.run(["git", *person, *arguments], cwd=folder, check=True, capture_output=True)


def pull_request(folder: Path, edit: tuple[str, str]) -> Path:
    """A checkout whose branch changes one line of what `origin/main` has."""
    origin, checkout = folder / "origin", folder / "work" / "checkout"
    shutil.copytree(EXAMPLES / "resnet_digits", origin, ignore=shutil.ignore_patterns(".hotlens", "__pycache__"))
    git(origin, "init", "-q", "-b", "main")
    git(origin, "add", ".")
    git(origin, "commit", "-qm", "before")
    git(folder, "clone", "-q", str(origin), str(checkout))
    file = checkout / "blocks.py"
    text = file.read_text()
    assert edit[0] in text
    file.write_text(text.replace(*edit, 1))
    git(checkout, "commit", "-qam", "after")
    return checkout


def run_steps(checkout: Path, more: dict[str, str]) -> tuple[int, str]:
    """Exit code of the first step that fails, else 0, and the job's summary. What a service brings itself is left out."""
    job = yaml.safe_load((EXAMPLES / "ci" / "github.yml").read_text())["jobs"]["profile"]
    summary = checkout.parent / "summary.md"
    tools = checkout.parent / "tools"
    tools.mkdir()
    (tools / "hotlens").symlink_to(os.environ["HOTLENS_BIN"])
    path = os.pathsep.join([str(tools), str(Path(os.environ["HOTLENS_TEST_PYTHON"]).parent), os.environ["PATH"]])
    known = {"PATH": path, "GITHUB_BASE_REF": "main", "GITHUB_STEP_SUMMARY": str(summary)}
    for step in job["steps"]:
        if "run" not in step or step.get("name") == "Install":
            continue
        done = subprocess.run(
            ["bash", "-e", "-c", step["run"]], cwd=checkout, env={**os.environ, **job["env"], **known, **more}, timeout=300
        )
        if done.returncode:
            return done.returncode, summary.read_text()
    return 0, summary.read_text()


SLOWER = "        import time\n        time.sleep(0.05)\n"


@pytest.mark.parametrize(("added", "code"), [("        # one more line\n", 0), (SLOWER, 1)])
def test_the_job_fails_where_the_change_makes_training_slower(tmp_path: Path, added: str, code: int) -> None:
    line = "        identity = x\n"
    failed, summary = run_steps(pull_request(tmp_path, (line, added + line)), {"SLOWER": "150%"})  # a busy machine alone is below that
    assert failed == code
    assert "Verdict" in summary
    assert summary.count("```") == 4
