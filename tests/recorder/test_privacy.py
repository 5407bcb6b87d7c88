"""A bundle holds what explains a run, and no secret; nobody may read more of it than of the original."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from conftest import RECORDER, record, record_text
from hotlens.process.masking import masked, names_a_secret
from hotlens.storage import store
from scripts import STEP, loop
from test_bundle import check_bundle

HF, OPENAI, AWS = "hf_" + "aB3" * 8, "sk-proj-" + "x9" * 12, "AKIA" + "Q7" * 8


@pytest.mark.parametrize(
    "argv, kept",
    [
        (["t.py", "--api-key", "k1", "--lr", "0.1"], ["t.py", "--api-key", "***", "--lr", "0.1"]),
        (["t.py", "--api_key=k1", "x"], ["t.py", "--api_key=***", "x"]),
        (["t.py", "wandb.api_key=k1", "model.lr=1"], ["t.py", "wandb.api_key=***", "model.lr=1"]),
        (["t.py", "+logger.apiKey=k1"], ["t.py", "+logger.apiKey=***"]),
        (["t.py", "--HF_TOKEN", "k1"], ["t.py", "--HF_TOKEN", "***"]),
        (["t.py", "--token", "k1", "k2"], ["t.py", "--token", "***", "k2"]),
        (["t.py", "--use-auth-token", "--lr", "1"], ["t.py", "--use-auth-token", "--lr", "1"]),
        (["t.py", "--password=a=b\nc"], ["t.py", "--password=***"]),
        (["t.py", "--db-passwd", "k1"], ["t.py", "--db-passwd", "***"]),
        (["t.py", HF, f"--login={OPENAI}"], ["t.py", "***", "--login=***"]),
        (["-m", "pkg", "--id", AWS], ["-m", "pkg", "--id", "***"]),
        (["t.py", "--db", "postgres://me:pass@host/x"], ["t.py", "--db", "postgres://***@host/x"]),
    ],
)
def test_what_looks_like_a_secret_is_masked(argv: list, kept: list) -> None:
    assert masked(argv).words == kept


@pytest.mark.parametrize(
    "option",
    ["--tokenizer", "--max-tokens", "--pad-token", "--eos_token", "--num_tokens", "--key", "--sort-key", "--monkey", "--secretary", "-"],
)
def test_words_of_a_vocabulary_are_no_secrets(option: str) -> None:
    assert not names_a_secret(option)
    assert masked(["t.py", option, "5", f"{option}=5"]).names == []


def test_ordinary_words_stay() -> None:
    words = ["t.py", "--data", "https://host:80/a@b", "s3://bucket/key", "a" * 40, "mask-rcnn", "sk-learn", "--sha=" + "0f" * 20]
    assert masked(words).words == words


def test_a_secret_is_not_kept_and_that_is_said(tmp_path: Path) -> None:
    script = "import sys\n" + loop(step="n = globals().get('n', 0) + 1\nassert n != 12, sys.argv\n" + STEP)
    run = record_text(tmp_path, script, arguments=["--api-key", "very-hidden-value", "--lr", "1"])
    manifest = run.bundle.manifest
    assert manifest["argv"] == ["train.py", "--api-key", "***", "--lr", "1"]
    assert "secret_hidden" in {w["code"] for w in manifest["warnings"]} and "the value of --api-key looks like a secret" in run.err
    assert manifest["error"]["type"] == "AssertionError" and "'***'" in manifest["error"]["message"]
    for file in run.bundle.path.glob("*.json"):
        assert "very-hidden-value" not in file.read_text(), file
    assert "very-hidden-value" in run.err  # the script's own words stay its own


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("given", [0o600, 0o644, 0o400])
def test_a_bundle_is_private_and_copies_are_as_the_original(tmp_path: Path, given: int) -> None:
    (tmp_path / "train.py").write_text(loop())
    (tmp_path / "train.py").chmod(given)
    bundle = record(tmp_path, ["train.py"]).bundle
    check_bundle(bundle)
    assert mode(bundle.path) == mode(bundle.path / "files") == 0o700
    assert {mode(p) for p in bundle.path.iterdir() if p.is_file()} == {0o600}
    (copy,) = (bundle.path / f["copy"] for f in bundle.model["files"] if f["path"] == str(tmp_path / "train.py"))
    assert mode(copy) == given


def test_a_manifest_that_is_written_again_is_as_private(tmp_path: Path) -> None:
    run = record_text(tmp_path, loop(after="raise SystemExit(5)\n"), ["--keep-going"])
    assert mode(run.bundle.path / "manifest.json") == 0o600 and run.bundle.manifest["exit_code"] == 5


def test_a_copy_is_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "0-train.py").symlink_to(tmp_path / "precious")
    with pytest.raises(FileExistsError):
        store.write_copy(str(tmp_path / "0-train.py"), b"text", str(RECORDER))
    assert (tmp_path / "precious").read_text() == "mine"


def test_the_copy_of_a_linked_script_is_a_file_as_readable_as_its_target(tmp_path: Path) -> None:
    (tmp_path / "real.py").write_text(loop())
    (tmp_path / "real.py").chmod(0o640)
    (tmp_path / "train.py").symlink_to("real.py")
    bundle = record(tmp_path, ["train.py"]).bundle
    (copy,) = (bundle.path / f["copy"] for f in bundle.model["files"] if f["path"].endswith("train.py"))
    assert not copy.is_symlink() and mode(copy) == 0o640 and os.path.samefile(copy.parent, bundle.path / "files")
