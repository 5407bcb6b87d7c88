"""A server of the timeline's page on a small trace, one for each file of tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from page_socket import Page, Server
from small_trace import small_trace


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("serve")
    small_trace(folder / "small.json")
    with Server(folder, "small.json") as running:
        yield running


@pytest.fixture
def page(server: Server) -> Iterator[Page]:
    opened = Page(server, Origin=f"http://{server.host}")
    assert opened.status == 101
    yield opened
    opened.close()
