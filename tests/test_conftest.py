"""The guards of the tests guard."""

import os
import socket
from pathlib import Path

import pytest

from ctxbuild.stores.disk import ValueStore

CACHE = Path(__file__).parents[1] / "cache"


def test_the_network_is_out_of_reach():
    with socket.socket() as outside, pytest.raises(AssertionError, match="reached for the network"):
        outside.connect(("192.0.2.1", 80))
    with pytest.raises(AssertionError, match="looked up a host"):
        socket.create_connection(("pypi.org", 443))


def test_this_machine_is_within_reach():
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        assert client.getpeername() == server.getsockname()


def test_the_default_cache_is_out_of_reach():
    with pytest.raises(AssertionError, match="used the default cache"):
        ValueStore(CACHE / "of-a-test", print).get(b"k")
    with pytest.raises(AssertionError, match="used the default cache"):
        (CACHE / "state").write_text("")
    assert not (CACHE / "of-a-test").exists()
    assert (CACHE / "README.md").read_text().startswith("# The cache")


def test_the_home_directory_is_empty_and_ours():
    assert os.listdir(Path.home()) == []
