"""What a page fault takes here, and who gives memory back to the system."""

from __future__ import annotations

import platform

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
