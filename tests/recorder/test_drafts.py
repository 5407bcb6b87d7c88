"""Half-made folders: a live one is nobody else's to clear, wherever its maker runs; one that is whole is whole on the disk."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

import pytest
from conftest import RECORDER, bundles_in, command, environment, record_text
from hotlens.storage import owner, ranks, store
from scripts import STEP, loop
from test_bundle import check_bundle

DAY = 24 * 3600
DRAFT = """\
import sys, time
sys.path.insert(0, {package!r})
from hotlens.storage import store
draft = store.Draft({folder!r}, "20200101T000000Z-abcdef")
draft.path("trace.json")
{more}
print("made", flush=True)
time.sleep(600)
"""
ELSEWHERE = {"place": "0123456789ab", "pid": 1, "started": "1"}


@contextlib.contextmanager
def drafting(folder: Path, more: str = "", before: tuple[str, ...] = ()):
    """Another process that makes a draft, and lives."""
    script = DRAFT.format(package=str(RECORDER.parents[1]), folder=str(folder), more=more)
    with subprocess.Popen([*before, sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "made\n"
        try:
            yield process
        finally:
            process.kill()


def claimed(profiles: Path, claim: dict, age: float = 0.0) -> Path:
    """A draft with this claim that nobody holds, last written so many seconds ago."""
    draft = profiles / "20200101T000000Z-abcdef.partial"
    (draft / "files").mkdir(parents=True)
    (draft / "writer").write_text(json.dumps(claim))
    for path in (draft / "files", draft / "writer", draft):
        os.utime(path, (time.time() - age, time.time() - age))
    return draft


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    folder = tmp_path / ".hotlens" / "profiles"
    folder.mkdir(parents=True)
    return folder


def names(profiles: Path) -> list[str]:
    return sorted(p.name for p in profiles.iterdir())


def test_the_draft_of_a_run_at_work_stays_and_that_of_a_killed_one_goes(profiles: Path) -> None:
    with drafting(profiles) as maker:
        store.prepare(str(profiles))
        assert names(profiles) == ["20200101T000000Z-abcdef.partial"]
        maker.kill()
        maker.wait()
        store.prepare(str(profiles))
        assert names(profiles) == []


def test_a_script_that_closes_all_descriptors_keeps_its_draft(profiles: Path) -> None:
    """The lock is gone then; its number and when it started still tell."""
    with drafting(profiles, "import os; os.closerange(3, 256)"):
        store.prepare(str(profiles))
        assert names(profiles) == ["20200101T000000Z-abcdef.partial"]


def test_a_live_draft_of_another_pid_namespace_stays(profiles: Path) -> None:
    unshare = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child")
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no PID namespace can be made here")
    with drafting(profiles, before=unshare):
        for path in (profiles / "20200101T000000Z-abcdef.partial").rglob("*"):
            os.utime(path, (0, 0))
        os.utime(profiles / "20200101T000000Z-abcdef.partial", (0, 0))
        store.prepare(str(profiles))  # old as it is, its lock is held
        assert names(profiles) == ["20200101T000000Z-abcdef.partial"]


@pytest.mark.parametrize("age, stays", [(0, True), (DAY - 60, True), (DAY + 60, False)])
@pytest.mark.parametrize("claim", [ELSEWHERE, {}, {"place": owner.place()}], ids=["another node", "none yet", "no number"])
def test_a_draft_that_nothing_is_known_of_stays_for_a_day(profiles: Path, claim: dict, age: float, stays: bool) -> None:
    draft = claimed(profiles, claim, age)
    store.prepare(str(profiles))
    assert draft.exists() == stays


def test_a_number_that_another_process_has_now_keeps_no_draft(profiles: Path) -> None:
    ours = {"place": owner.place(), "pid": os.getpid()}
    draft = claimed(profiles, {**ours, "started": owner.started(os.getpid())})
    store.prepare(str(profiles))
    assert draft.exists()
    (draft / "writer").write_text(json.dumps({**ours, "started": "1"}))
    store.prepare(str(profiles))
    assert not draft.exists()


def test_the_group_of_a_live_launcher_stays(profiles: Path) -> None:
    dead = int(subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True).stdout)
    here, there = owner.place(), "0123456789ab"
    for group in (f"{here}-{os.getpid()}-0", f"{here}-{dead}-0", f"{there}-{dead}-0"):
        (profiles / (ranks.PREFIX + group)).mkdir()
    ranks.clear_abandoned(str(profiles), time.time())
    assert names(profiles) == sorted(ranks.PREFIX + g for g in (f"{here}-{os.getpid()}-0", f"{there}-{dead}-0"))
    ranks.clear_abandoned(str(profiles), time.time() + DAY + 60)
    assert names(profiles) == [f"{ranks.PREFIX}{here}-{os.getpid()}-0"]


def test_a_killed_recording_is_cleared_by_the_next(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(loop(step="import time; time.sleep(0.05)\n" + STEP))
    reading, writing = os.pipe()
    first = subprocess.Popen(
        command(tmp_path, ["train.py"], fd=writing), cwd=tmp_path, pass_fds=(writing,), env=environment(), stderr=subprocess.DEVNULL
    )
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as progress:
        next(line for line in progress if '"phase": "map"' in line)  # the measured steps are in the draft
    first.send_signal(signal.SIGKILL)
    first.wait()
    profiles = tmp_path / ".hotlens" / "profiles"
    assert [n.endswith(".partial") for n in names(profiles)] == [True]
    check_bundle(record_text(tmp_path, loop()).bundle)
    assert len(names(profiles)) == 1


FUTURE = "20990101T000000Z-abcdef"


def test_a_bundle_sorts_after_all_others_whatever_the_clock_says(tmp_path: Path, profiles: Path) -> None:
    (profiles / FUTURE).mkdir()
    (profiles / "notes").mkdir()
    run = record_text(tmp_path, loop())
    assert run.bundle.path.name.startswith("20990101T000001Z-") and run.bundle.manifest["id"] == run.bundle.path.name
    created = datetime.strptime(run.bundle.manifest["created"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    assert abs((datetime.now(timezone.utc) - created).total_seconds()) < 600
    assert store.new_name(str(profiles)) > run.bundle.path.name  # within the same second, too


def test_a_name_beyond_all_times_is_no_obstacle(profiles: Path) -> None:
    (profiles / "99991231T235959Z-abcdef").mkdir()
    assert store.new_name(str(profiles), "123456").endswith("Z-123456")


def test_a_bundle_is_on_the_disk_before_it_has_its_name(profiles: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draft = store.Draft(str(profiles))
    for name in ("manifest.json", "files/0-train.py"):
        Path(draft.path(name)).write_text("{}")
    done: list[str] = []

    def fsync(fd: int) -> None:
        done.append(os.path.relpath(os.readlink(f"/proc/self/fd/{fd}"), profiles))

    rename = os.rename
    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "rename", lambda old, new: (done.append("renamed"), rename(old, new)))
    draft.commit()
    before, after = done[: done.index("renamed")], done[done.index("renamed") + 1 :]
    partial = draft.name + ".partial"
    assert {partial, f"{partial}/files", f"{partial}/manifest.json", f"{partial}/files/0-train.py"} <= set(before)
    assert after == ["."] and names(profiles) == [draft.name]


def test_a_file_that_cannot_reach_the_disk_is_an_error(profiles: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draft = store.Draft(str(profiles))
    Path(draft.path("manifest.json")).write_text("{}")

    def fsync(fd: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="Input/output"):
        draft.commit()
    draft.discard()
    assert names(profiles) == [] and bundles_in(profiles.parents[1]) == []


def test_releasing_closes_no_descriptor_of_the_scripts(profiles: Path, tmp_path: Path) -> None:
    claim = owner.Claim(str(profiles))
    os.close(claim._fd)
    with open(tmp_path / "own", "w") as own:
        assert own.fileno() == claim._fd
        claim.release()
        own.write("kept")
    assert (tmp_path / "own").read_text() == "kept" and names(profiles) == []


def test_a_link_that_leads_nowhere_is_not_written_through(tmp_path: Path, profiles: Path) -> None:
    (profiles.parent / ".gitignore").symlink_to(tmp_path / "elsewhere")
    store.prepare(str(profiles))
    assert not (tmp_path / "elsewhere").exists()


def test_a_manifest_is_replaced_also_where_a_killed_run_has_left_half_of_a_new_one(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    manifest.write_text("old")
    (tmp_path / "manifest.json.new").write_text("half")
    store.replace(str(manifest), b"new")
    assert manifest.read_text() == "new" and names(tmp_path) == ["manifest.json"]


def test_a_draft_that_is_done_holds_no_descriptor(profiles: Path) -> None:
    before = os.listdir("/proc/self/fd")
    for end in (store.Draft.commit, store.Draft.discard):
        draft = store.Draft(str(profiles))
        Path(draft.path("manifest.json")).write_text("{}")
        end(draft)
        assert os.listdir("/proc/self/fd") == before
