"""One layer more or fewer of a loop that does more with each than hand it on: the peak against a run of the script edited so."""

from __future__ import annotations

from pathlib import Path

import pytest
from loops import SCRIPTS
from training import edit, predicted, record_all, told_as_run

REFUSED = {
    "kept": "does not come from the one before it alone",
    "some": "does with `layers` is not followed",
    "turns": "does not do the same with each",
}


# Recorded with two layers: what runs after the second has to be what runs between them.
OF_TWO = {f"{name}_of_two": SCRIPTS[name].replace("DEPTH = 4", "DEPTH = 2") for name in ("added", "in_place", "zipped", "pairs")}
NOT_OF_TWO = {f"{name}_of_two": SCRIPTS[name].replace("DEPTH = 4", "DEPTH = 2") for name in ("shared", "not_the_last")}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record_all(tmp_path_factory.mktemp("loops"), SCRIPTS | OF_TWO | NOT_OF_TWO)


@pytest.mark.parametrize("depth", [1, 2, 6])
@pytest.mark.parametrize("name", [name for name in SCRIPTS if name not in REFUSED])
def test_the_peak_is_that_of_the_script_really_edited_so(recorded: Path, tmp_path: Path, name: str, depth: int) -> None:
    text = edit(recorded / name, SCRIPTS[name], "DEPTH = 4", f"DEPTH = {depth}")
    assert told_as_run(recorded / name, text, tmp_path / "truth")


@pytest.mark.parametrize("depth", [1, 4])
@pytest.mark.parametrize("name", OF_TWO)
def test_two_layers_show_what_a_third_would_do(recorded: Path, tmp_path: Path, name: str, depth: int) -> None:
    text = edit(recorded / name, OF_TWO[name], "DEPTH = 2", f"DEPTH = {depth}")
    assert told_as_run(recorded / name, text, tmp_path / "truth")


@pytest.mark.parametrize("name", NOT_OF_TWO)
def test_two_layers_may_not_show_it(recorded: Path, name: str) -> None:
    edit(recorded / name, NOT_OF_TWO[name], "DEPTH = 2", "DEPTH = 3")
    (refusal,) = predicted(recorded / name)["refused"]
    assert "of two layers" in refusal["reason"]


@pytest.mark.parametrize("name", REFUSED)
def test_a_loop_that_does_not_do_the_same_with_each_is_refused(recorded: Path, name: str) -> None:
    edit(recorded / name, SCRIPTS[name], "DEPTH = 4", "DEPTH = 6")
    (refusal,) = predicted(recorded / name)["refused"]
    assert REFUSED[name] in refusal["reason"]
