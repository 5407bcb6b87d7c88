"""What a page fault takes here, and who gives memory back to the system."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import hotlens
import pytest
from hotlens.process.page_faults import allocator, cost_ns, keeps_freed, minor_faults


def test_memory_that_is_touched_first_is_counted_and_takes_time() -> None:
    before = minor_faults()
    if before is None:
        pytest.skip("this system does not count them")
    size = 64 << 20  # beyond every threshold of glibc's malloc
    held = bytearray(size)
    assert minor_faults() - before >= size // (2 << 20)  # of huge pages at least so many
    assert len(held) == size
    each = cost_ns()
    assert each is not None and 50 < each < 100_000


def test_the_allocator_of_this_process_has_a_name() -> None:
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("another C library")
    assert allocator() == "glibc"


def test_so_it_has_in_the_interpreter_of_the_system() -> None:
    """Debian's is linked so that addresses of functions of libraries lie within it."""
    python = shutil.which("python3", path="/usr/bin")
    if platform.libc_ver()[0] != "glibc" or python is None:
        pytest.skip("another C library, or no interpreter")
    path = str(Path(hotlens.__file__).parents[1])
    code = f"import sys; sys.path.insert(0, {path!r}); from hotlens.process.page_faults import allocator; print(allocator())"
    assert subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=True).stdout == "glibc\n"


@pytest.mark.parametrize(
    ("environment", "keeps"),
    [
        ({}, False),
        ({"MALLOC_MMAP_THRESHOLD_": "1073741824"}, False),  # the heap's end is given back all the same
        ({"MALLOC_TRIM_THRESHOLD_": "1073741824"}, False),
        ({"MALLOC_MMAP_THRESHOLD_": "1073741824", "MALLOC_TRIM_THRESHOLD_": "1073741824"}, True),
        ({"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "1073741824"}, True),
        ({"GLIBC_TUNABLES": "glibc.malloc.trim_threshold=1073741824:glibc.malloc.mmap_max=0"}, True),
        ({"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}, False),
    ],
)
def test_thresholds_that_somebody_set_are_known(environment: dict[str, str], keeps: bool) -> None:
    assert keeps_freed(environment) is keeps
