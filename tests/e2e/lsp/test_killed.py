"""What a server that is killed leaves behind, and what one does that may not write: files are whole, the next server goes on."""

from __future__ import annotations

import json
import os
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from conftest import PYTHON
from lsp_client import RICH, Client

Start = Callable[..., Client]
TALKS = {**RICH, "experimental": {"hotlens": {"protocolVersion": 1, "dialogs": True, "showTimeline": {}}}}
PROFILE, BASELINE, ARGUMENTS = (f"hotlens.server.{name}" for name in ("profile", "setBaseline", "setArguments"))
QUICK = {"python": PYTHON, "profile": {"warmup": 1, "steps": 2}}
RUN_LIMIT = 120.0
# What only root may do, and tests may be root.
BOUND = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search") if os.geteuid() == 0 else ()


def kept(folder: Path) -> list[Path]:
    """The files that the server itself writes beside the profiles."""
    return [file for file in (folder / ".hotlens").iterdir() if file.suffix in (".json", ".jsonl")]


def check_whole(folder: Path) -> None:
    for file in kept(folder):
        texts = file.read_text().splitlines() if file.suffix == ".jsonl" else [file.read_text()]
        for text in texts:
            assert isinstance(json.loads(text), dict | list), file


def write_again_and_again(client: Client, uri: str, stop: threading.Event) -> None:
    for turn in range(1_000_000):
        if stop.is_set():
            return
        with suppress(Exception):  # it is killed meanwhile
            client.command(ARGUMENTS, {"uri": uri, "arguments": f"--epochs {1 + turn % 3}"})
            client.command(BASELINE, {"uri": uri, "clear": turn % 2 == 1})


@pytest.mark.parametrize("seed", range(4))
def test_killed_while_it_writes_it_leaves_whole_files(start: Start, example: Path, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(4):
        client = start()
        client.initialize([example], TALKS, QUICK)
        uri = client.open(example / "train.py")
        stop = threading.Event()
        writer = threading.Thread(target=write_again_and_again, args=(client, uri, stop), daemon=True)
        writer.start()
        client.wait(lambda: kept(example))  # else there would be nothing to look at
        time.sleep(chance.uniform(0.0, 0.4))
        client.process.kill()
        stop.set()
        client.process.wait()
        check_whole(example)
    client = start()
    client.initialize([example], TALKS, QUICK)
    assert client.hints_when_known(client.open(example / "model.py"))
    assert client.stop() == 0


@pytest.mark.parametrize("seed", range(3))
def test_killed_during_a_run_it_shows_what_was_there_before(start: Start, example: Path, seed: int) -> None:
    before = {file.name for file in (example / ".hotlens/profiles").iterdir()}
    client = start()
    client.initialize([example], TALKS, QUICK)
    uri = client.open(example / "train.py")
    client.hints_when_known(uri)
    client.command(PROFILE, {"uri": uri})
    time.sleep(random.Random(seed).uniform(0.0, 6.0))
    client.process.kill()
    client.process.wait()
    time.sleep(0.5)
    again = start()
    again.initialize([example], TALKS, QUICK)
    assert again.hints_when_known(again.open(example / "model.py"))
    profile = again.request("hotlens/profileState")["profile"]
    whole = {file.name for file in (example / ".hotlens/profiles").iterdir() if (file / "manifest.json").exists()}
    assert before <= whole and Path(profile["folder"]).name in whole
    uri = again.open(example / "train.py")
    again.command(PROFILE, {"uri": uri})
    new = lambda: again.request("hotlens/profileState")["profile"]["id"] != profile["id"]  # noqa: E731
    end = time.monotonic() + RUN_LIMIT
    while not new() and time.monotonic() < end:
        time.sleep(0.2)
    assert new()


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    places = [folder, *(place for place in folder.rglob("*") if place.is_dir())]
    for place in places:
        place.chmod(0o555)
    try:
        yield
    finally:
        for place in places:
            place.chmod(0o755)


@pytest.mark.skipif(bool(BOUND) and shutil.which("setpriv") is None, reason="root may write everywhere")
def test_who_may_not_write_sees_hints_and_is_told(start: Start, example: Path) -> None:
    with read_only(example):
        client = start(through=BOUND)
        client.initialize([example], TALKS, QUICK)
        uri = client.open(example / "train.py")
        assert client.hints_when_known(uri)
        told = lambda words: [m for m in client.messages("window/showMessage") if words in m["message"]]  # noqa: E731
        client.command(BASELINE, {"uri": uri})
        client.command(ARGUMENTS, {"uri": uri, "arguments": "--epochs 1"})
        for file in ("state.json", "runs.json"):
            client.wait(lambda name=file: told(f".hotlens/{name} cannot be written: Permission denied."))
        client.command(PROFILE, {"uri": uri})
        client.wait(lambda: told("profile in a terminal: hotlens run --out DIR"), RUN_LIMIT)
        assert client.hints(uri)
        assert client.stop() == 0
