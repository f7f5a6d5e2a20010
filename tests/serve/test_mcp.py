"""The server for agents, driven by the official client: in memory, over stdio and over HTTP."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from contextlib import asynccontextmanager

import pytest

pytest.importorskip("mcp")

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated

from ctxbuild.cli.commands.mcp import explained
from ctxbuild.serve import mcp as serving
from ctxbuild.serve.mcp import PackServer
from ctxbuild.serve.toolbox import MOST_TOKENS, Toolbox
from ctxbuild.source import ctxfile

URI = "ctx://pack/app"
READING = ["list_packs", "get_pack", "why", "expand", "delta_since", "assemble"]
ALL = [*READING, "remember"]


def toolbox(shop):
    return Toolbox(lambda: ctxfile.load(shop.root / "ctxfile.toml"), explained, workers=1)


@asynccontextmanager
async def client_of(shop, mode="auto", box=None, **options):
    server = PackServer(box or toolbox(shop), interval=0.05)
    async with Client(server.server, mode=mode, **options) as client:
        yield client


def run(scenario, *arguments):
    """Runs a scenario, which must end."""

    async def bounded():
        with anyio.fail_after(60):
            await scenario(*arguments)

    anyio.run(bounded)


def text_of(result):
    assert not result.is_error, result.content
    return result.content[0].text


async def refusal(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert [item.type for item in result.content] == ["text"]
    return result.content[0].text


# --- resources ----------------------------------------------------------------------------


def test_packs_are_resources_with_their_present_text(built):
    async def scenario():
        async with client_of(built) as client:
            listed = (await client.list_resources()).resources
            assert [(r.uri, r.name, r.mime_type) for r in listed] == [(URI, "app", "text/markdown")]
            assert listed[0].description.endswith("of 4,000 tokens, fresh")
            templates = (await client.list_resource_templates()).resource_templates
            assert [each.uri_template for each in templates] == ["ctx://pack/{target}"]
            contents = (await client.read_resource(URI)).contents
            assert [item.text for item in contents] == [built.pack()]
            built.replace("shop/store.py", "key: str, value: int", "key: str, value: float")
            contents = (await client.read_resource(URI, cache_mode="bypass")).contents
            assert "value: float" in contents[0].text
            assert "value: float" not in built.pack()  # a reader writes no output

    run(scenario)


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("ctx://pack/ap", "no target 'ap', did you mean 'app'?"),
        ("ctx://pack/..%2F..%2Fetc%2Fpasswd", "no target '../../etc/passwd'"),
        ("file:///etc/passwd", "file:///etc/passwd: is no pack"),
        ("ctx://pack/", "ctx://pack/: is no pack"),
    ],
)
def test_what_is_no_pack_cannot_be_read(built, uri, message):
    async def scenario():
        async with client_of(built) as client:
            with pytest.raises(MCPError, match=re.escape(message)):
                await client.read_resource(uri)

    run(scenario)


def test_an_edit_is_announced_to_who_listens(built):
    async def scenario():
        async with (
            client_of(built) as client,
            client.listen(resource_subscriptions=[URI], resources_list_changed=True) as events,
        ):
            await anyio.sleep(0.5)
            built.replace("shop/lonely.py", "pass", "return None")  # changes no pack
            await anyio.sleep(0.5)
            built.replace("shop/store.py", "value: int", "value: float")
            assert await anext(events) == ResourceUpdated(URI)
            assert "value: float" in (await client.read_resource(URI)).contents[0].text
            more = '[targets.more]\nfiles = ["shop/disk.py"]\n'
            built.put("ctxfile.toml", (built.root / "ctxfile.toml").read_text() + more)
            assert await anext(events) == ResourcesListChanged()

    run(scenario)


def test_a_build_by_somebody_else_is_announced_too(built):
    async def scenario():
        async with (
            client_of(built) as client,
            client.listen(resource_subscriptions=[URI]) as events,
        ):
            await anyio.sleep(0.5)
            built.replace("shop/store.py", "value: int", "value: float")
            await anyio.to_thread.run_sync(built.build)
            assert await anext(events) == ResourceUpdated(URI)

    run(scenario)


def test_beside_a_daemon_it_answers_the_same(daemon):
    shop = daemon.project

    async def scenario():
        async with client_of(shop) as client, client.listen(resource_subscriptions=[URI]) as events:
            await anyio.sleep(0.5)
            for number in range(5):
                shop.put("shop/prices.py", f"def total(prices: list[int], n{number}: int): ...\n")
                pack = await client.call_tool("get_pack", {"target": "app"})
                assert f"n{number}: int" in text_of(pack)
            assert await anext(events) == ResourceUpdated(URI)

    run(scenario)


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
def test_clients_of_the_older_protocol_subscribe_and_are_told(built):
    async def scenario():
        told = anyio.Event()
        heard = []

        async def hear(message):
            heard.append(getattr(message, "method", ""))
            if heard[-1] == "notifications/resources/updated":
                told.set()

        server = PackServer(toolbox(built), interval=0.05)
        async with Client(server.server, mode="legacy", message_handler=hear) as client:
            assert client.server_capabilities.resources.subscribe is True
            with pytest.raises(MCPError, match="ctx://pack/other: no such pack"):
                await client.subscribe_resource("ctx://pack/other")
            await client.subscribe_resource(URI)
            await anyio.sleep(0.5)
            built.replace("shop/store.py", "value: int", "value: float")
            await told.wait()
            await client.unsubscribe_resource(URI)
            assert not server._subscribed

    run(scenario)


# --- tools --------------------------------------------------------------------------------


def test_every_tool_only_reads_but_the_one_that_remembers(built):
    async def scenario():
        async with client_of(built) as client:
            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools] == ALL
            assert [tool.name for tool in tools if tool.annotations.read_only_hint] == READING
            (writing,) = [tool for tool in tools if not tool.annotations.read_only_hint]
            assert writing.annotations.destructive_hint is False
            assert writing.annotations.idempotent_hint is True
            assert all(tool.input_schema["additionalProperties"] is False for tool in tools)
            assert [t.name for t in tools if t.output_schema] == [
                *("list_packs", "why", "assemble"),
            ]

    before = built.outputs()
    run(scenario)
    assert built.outputs() == before


LAYERED = """\
version = 1
[targets.agent]
budget = 4000
reserve = 500
[[targets.agent.layers]]
name = "code"
entry = ["shop/app.py"]
budget = 1000
[[targets.agent.layers]]
name = "session"
transcript = "session.jsonl"
budget = 2000
[[targets.agent.layers]]
name = "memory"
memory = "NOTES.md"
budget = 500
"""


def test_a_session_is_assembled_and_a_finding_remembered_for_the_next_one(shop):
    shop.put("ctxfile.toml", LAYERED)
    shop.put("NOTES.md", "# Notes\n")
    messages = [{"role": "user", "content": "Is put() right?"}]
    finding = "shop/disk.py: found put() keeps nothing; severity high; suggest keep it"

    async def scenario():
        async with client_of(shop) as client:
            arguments = {"target": "agent", "messages": messages}
            facts = (await client.call_tool("assemble", arguments)).structured_content
            (message,) = facts["messages"]
            head, task = [block["text"] for block in message["content"]]
            assert head.startswith("<!-- ctxbuild:pack agent -->\n# agent\n")
            assert task == "Is put() right?"
            assert facts["tokens"] < 3500
            assert facts["dropped"] == []

            said = text_of(await client.call_tool("remember", {"finding": finding}))
            assert said == "added to NOTES.md: shop/disk.py: found put() keeps nothing\n"
            said = text_of(await client.call_tool("remember", {"finding": finding}))
            assert said.startswith("merged in NOTES.md")
            facts = (await client.call_tool("assemble", arguments)).structured_content
            assert f"- {finding}\n" in facts["messages"][-1]["content"][-1]["text"]

    run(scenario)
    assert finding in (shop.root / "NOTES.md").read_text()


def test_what_assemble_and_remember_refuse(shop, tmp_path):
    shop.put("ctxfile.toml", LAYERED)

    async def scenario():
        async with client_of(shop) as client:
            said = await refusal(client, "assemble", target="agnet", messages=[])
            assert "did you mean 'agent'?" in said
            said = await refusal(client, "assemble", target="agent", messages=["hello"])
            assert said == "assemble: 'messages' must be a list of objects"
            said = await refusal(client, "assemble", target="agent", messages=[{"content": "x"}])
            assert said.startswith("message 0: has neither role nor type")
            finding = "shop/app.py: found a"
            said = await refusal(client, "remember", finding=finding, notes="../notes.md")
            assert said == f"../notes.md: {OUTSIDE}"
            said = await refusal(client, "remember", finding="../../etc/passwd: found a")
            assert said == f"../../etc/passwd: {OUTSIDE}"
            said = await refusal(client, "remember", finding="something is wrong")
            assert said.startswith("'something is wrong' is no finding")

    run(scenario)
    assert not (tmp_path / "notes.md").exists()
    assert not (shop.root / "NOTES.md").exists()


def test_list_packs_gives_facts(shop):
    async def scenario():
        async with client_of(shop) as client:
            result = await client.call_tool("list_packs", {})
            assert result.structured_content == {
                "packs": [
                    {
                        "target": "app",
                        "uri": URI,
                        "status": "not built yet",
                        "tokens": None,
                        "budget": 4000,
                        "reserve": 0,
                        "digest": None,
                    }
                ]
            }
            assert text_of(result) == "- app: not built yet, budget 4,000 tokens\n"
            shop.build()
            packs = (await client.call_tool("list_packs", {})).structured_content["packs"]
            assert packs[0]["status"] == "fresh"
            shop.replace("shop/app.py", "path: str", "path: bytes")
            packs = (await client.call_tool("list_packs", {})).structured_content["packs"]
            assert packs[0]["status"] == "stale"

    run(scenario)


def test_get_pack_gives_text_with_the_digest_behind_it_and_nothing_that_hides_it(built):
    async def scenario():
        async with client_of(built) as client:
            result = await client.call_tool("get_pack", {"target": "app"})
            pack = json.loads(built.outputs()["app.pack.json"])
            texts = [item.text for item in result.content]
            assert texts == [built.pack(), f"digest {pack['digest']}"]
            assert result.structured_content is None
            assert result.meta["ctxbuild/facts"]["tokens"] == pack["tokens"]

    run(scenario)


def test_a_pack_larger_than_the_limit_comes_in_parts(built):
    count = toolbox(built)._counter()

    async def scenario():
        async with client_of(built) as client:
            first = await client.call_tool("get_pack", {"target": "app", "max_tokens": 120})
            parts = first.meta["ctxbuild/facts"]["parts"]
            assert parts > 1
            texts = []
            for part in range(1, parts + 1):
                arguments = {"target": "app", "max_tokens": 120, "part": part}
                result = await client.call_tool("get_pack", arguments)
                assert sum(count([item.text for item in result.content])) <= 120
                texts.append(text_of(result))
            assert "".join(texts) == built.pack()
            said = await refusal(client, "get_pack", target="app", max_tokens=120, part=parts + 1)
            assert said.startswith(f"part {parts + 1} of app: there are {parts}")

    run(scenario)


def test_why_gives_the_verdict_as_facts_and_as_people_read_it(built):
    async def scenario():
        async with client_of(built) as client:
            result = await client.call_tool(
                "why", {"target": "app", "unit": "shop/store.py::Store.save"}
            )
            finding = result.structured_content["findings"][0]
            assert (finding["unit"], finding["verdict"]) == ("shop/store.py::Store.save", "kept")
            assert "shop/app.py" in text_of(result)
            every = await client.call_tool("why", {"target": "app", "max_tokens": 200})
            count = toolbox(built)._counter()
            assert count([text_of(every)])[0] <= 200
            assert every.structured_content["left_out"] > 0

    run(scenario)


def test_expand_gives_body_callees_and_callers(built):
    async def scenario():
        async with client_of(built) as client:
            result = await client.call_tool("expand", {"unit": "shop/store.py::Store.save"})
            assert text_of(result) == (
                "# shop/store.py::Store.save (lines 14-16)\n\n"
                "```python\n"
                "def save(self, key: str, value: int) -> None:\n"
                '    """Saves a value."""\n'
                "    self.disk.put(key, value)\n"
                "```\n\n"
                "## Uses\n\n"
                "```python\n"
                "# shop/disk.py\n"
                "# in Disk\n"
                "def put(self, key: str, value: int) -> None: ...\n"
                "```\n\n"
                "## Used by\n\n"
                "```python\n"
                "# shop/app.py\n"
                "def main(path: str) -> int:\n"
                "    ...\n"
                "    store.save('total', prices.total([1, 2]))\n"
                "```\n"
            )
            facts = result.meta["ctxbuild/facts"]
            assert facts["uses"] == ["shop/disk.py::Disk.put"]
            assert facts["used_by"] == ["shop/app.py::main"]
            absolute = str(built.root / "shop/store.py")
            whole = await client.call_tool("expand", {"unit": absolute})
            assert (built.root / "shop/store.py").read_text() in text_of(whole)

    run(scenario)


def test_delta_since_gives_what_changed_since_the_pack_that_was_read(built):
    async def scenario():
        async with client_of(built) as client:
            read = await client.call_tool("get_pack", {"target": "app"})
            digest = read.meta["ctxbuild/facts"]["digest"]
            same = await client.call_tool("delta_since", {"target": "app", "digest": digest})
            assert text_of(same) == "Nothing that was read of app has changed.\n"
            built.replace("shop/store.py", "value: int", "value: float")
            later = await client.call_tool("delta_since", {"target": "app", "digest": digest})
            assert "value: float" in text_of(later)
            facts = later.meta["ctxbuild/facts"]
            assert (facts["since"], facts["changed"]) == (digest, True)
            # What the new pack is called can be used in turn, though nobody built it.
            pack = await client.call_tool("get_pack", {"target": "app"})
            assert pack.meta["ctxbuild/facts"]["digest"] == facts["digest"]
            built.replace("shop/store.py", "value: float", "value: bytes")
            arguments = {"target": "app", "digest": facts["digest"]}
            assert "value: bytes" in text_of(await client.call_tool("delta_since", arguments))

    run(scenario)


# --- refusals -----------------------------------------------------------------------------

OUTSIDE = "lies outside the project: name a path relative to its root"
REFUSALS = [
    ("expand", {"unit": "../../etc/passwd"}, f"../../etc/passwd: {OUTSIDE}"),
    ("expand", {"unit": "/etc/passwd"}, f"/etc/passwd: {OUTSIDE}"),
    ("expand", {"unit": "shop/../../x.py::f"}, f"shop/../../x.py: {OUTSIDE}"),
    ("why", {"target": "app", "unit": "../../etc/passwd"}, f"../../etc/passwd: {OUTSIDE}"),
    ("expand", {"unit": ""}, "no path is given: name `path` or `path::symbol`"),
    ("expand", {"unit": "shop"}, "shop: is no source file of the project"),
    ("expand", {"unit": ".ctxbuild/state.db"}, ".ctxbuild/state.db: is no source file"),
    ("expand", {"unit": "shop/stor.py"}, "did you mean shop/store.py?"),
    ("expand", {"unit": "shop/store.py::Store.sav"}, "did you mean Store.save"),
    ("expand", {"unit": "shop/app.py", "max_tokens": 1_000_000}, "max_tokens 1,000,000: "),
    ("expand", {"unit": "shop/app.py", "max_tokens": -1}, "max_tokens -1: "),
    ("expand", {"unit": "shop/app.py", "max_tokens": "many"}, "'max_tokens' must be a number"),
    ("expand", {"unit": "shop/app.py", "depth": 2}, "unknown argument 'depth'"),
    ("expand", {}, "expand: the argument 'unit' is missing"),
    ("get_pack", {"target": "ap"}, "no target 'ap', did you mean 'app'?"),
    ("get_pack", {"target": "app", "max_tokens": 1_000_000}, "max_tokens 1,000,000: "),
    ("get_pack", {"target": "app", "part": 0}, "part 0 of app: there are 1"),
    ("why", {"target": "app", "max_tokens": MOST_TOKENS + 1}, "max_tokens 50,001: "),
    ("delta_since", {"target": "app", "digest": "0" * 64}, "no pack"),
    ("delta_since", {"target": "app", "digest": "../../x"}, "'../../x' is no digest"),
    ("delta_since", {"target": "ap", "digest": "0" * 64}, "no target 'ap'"),
]


@pytest.mark.parametrize(("tool", "arguments", "message"), REFUSALS)
def test_a_wrong_request_is_refused_with_a_reason(built, tool, arguments, message):
    async def scenario():
        async with client_of(built) as client:
            assert message in await refusal(client, tool, **arguments)

    run(scenario)


def test_a_file_that_leads_out_by_a_link_is_refused(built, tmp_path):
    (tmp_path / "secret.py").write_text("SECRET = 1\n")
    (built.root / "shop/link.py").symlink_to(tmp_path / "secret.py")

    async def scenario():
        async with client_of(built) as client:
            said = await refusal(client, "expand", unit="shop/link.py")
            assert said.startswith("shop/link.py: is no source file of the project")

    run(scenario)


def test_the_delta_of_another_target_is_refused(built):
    more = '[targets.disk]\nfiles = ["shop/disk.py"]\n'
    built.put("ctxfile.toml", (built.root / "ctxfile.toml").read_text() + more)
    built.build()

    async def scenario():
        async with client_of(built) as client:
            other = await client.call_tool("get_pack", {"target": "disk"})
            digest = other.meta["ctxbuild/facts"]["digest"]
            said = await refusal(client, "delta_since", target="app", digest=digest)
            assert "a pack of target 'disk' cannot become one of 'app'" in said

    run(scenario)


def test_a_broken_ctxfile_is_told_and_later_edits_are_heard(built):
    async def scenario():
        async with client_of(built) as client:
            text = (built.root / "ctxfile.toml").read_text()
            built.put("ctxfile.toml", text.replace("budget", "bugdet"))
            said = await refusal(client, "get_pack", target="app")
            assert "did you mean 'budget'?" in said
            built.put("ctxfile.toml", text)
            assert text_of(await client.call_tool("get_pack", {"target": "app"})) == built.pack()

    run(scenario)


def test_what_a_bug_says_stays_in_the_log(built, caplog):
    class Broken(Toolbox):
        def list_packs(self):
            raise RuntimeError("the secret is 42")

    box = Broken(lambda: ctxfile.load(built.root / "ctxfile.toml"), explained)

    async def scenario():
        async with client_of(built, box=box) as client:
            said = await refusal(client, "list_packs")
            assert said == "list_packs: internal error, see the server's log"
            with pytest.raises(MCPError, match=r"internal error, see the server's log$"):
                await client.list_resources()

    run(scenario)
    assert "the secret is 42" in caplog.text


def test_an_unknown_tool_is_an_error_of_the_protocol(built):
    async def scenario():
        async with client_of(built) as client:
            with pytest.raises(MCPError, match="unknown tool 'delete_all'"):
                await client.call_tool("delete_all", {})

    run(scenario)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_that_hangs_up_mid_answer_harms_nobody(built, mode):
    import threading

    begun, go_on = threading.Event(), threading.Event()

    class Slow(Toolbox):
        def expand(self, unit, max_tokens=4_000):
            begun.set()
            go_on.wait(20)
            return super().expand(unit, max_tokens)

    box = Slow(lambda: ctxfile.load(built.root / "ctxfile.toml"), explained, workers=1)

    async def scenario():
        async with client_of(built, mode, box=box) as client:
            with anyio.move_on_after(0.3):
                await client.call_tool("expand", {"unit": "shop/app.py"})
            assert begun.is_set()
            pack = await client.call_tool("get_pack", {"target": "app"})
            assert text_of(pack) == built.pack()
            go_on.set()
            assert "def main" in text_of(await client.call_tool("expand", {"unit": "shop/app.py"}))

    run(scenario)


# --- transports ---------------------------------------------------------------------------


def command(shop, *arguments):
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "HOME": str(shop.root)}
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "ctxbuild", "-C", str(shop.root), "mcp", "--poll", "0.1", *arguments],
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_it_serves_over_stdio(built, mode):
    async def scenario():
        async with Client(command(built), mode=mode) as client:
            assert client.server_info.name == "ctxbuild"
            assert [tool.name for tool in (await client.list_tools()).tools] == ALL
            result = await client.call_tool("get_pack", {"target": "app"})
            assert text_of(result) == built.pack()
            said = await refusal(client, "expand", unit="../../etc/passwd")
            assert said == f"../../etc/passwd: {OUTSIDE}"
            if mode == "legacy":
                return
            async with client.listen(resource_subscriptions=[URI]) as events:
                await anyio.sleep(1)
                built.replace("shop/store.py", "value: int", "value: float")
                assert await anext(events) == ResourceUpdated(URI)

    run(scenario)


def test_a_client_that_is_killed_mid_answer_ends_the_server(built):
    parameters = command(built)
    server = subprocess.Popen(
        [parameters.command, *parameters.args],
        env=parameters.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
    hello["clientInfo"] = {"name": "c", "version": "1"}
    call = {"name": "get_pack", "arguments": {"target": "app"}}
    for message in (
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
    ):
        server.stdin.write((json.dumps({"jsonrpc": "2.0", **message}) + "\n").encode())
    server.stdin.flush()
    server.stdout.close()
    server.stdin.close()
    server.wait(30)
    server.stderr.close()
    assert built.build().targets[0].status == "fresh"


def test_it_serves_over_http_on_this_machine_alone(built, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    parameters = command(built, "--http", "0")
    server = subprocess.Popen(
        [parameters.command, *parameters.args], env=parameters.env, stderr=subprocess.PIPE
    )
    try:
        url = server.stderr.readline().decode().split()[-1]
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/mcp", url)

        async def scenario():
            async with Client(url) as client:
                result = await client.call_tool("get_pack", {"target": "app"})
                assert text_of(result) == built.pack()
                async with client.listen(resource_subscriptions=[URI]) as events:
                    await anyio.sleep(1)
                    built.replace("shop/store.py", "value: int", "value: float")
                    assert await anext(events) == ResourceUpdated(URI)

        run(scenario)
        refuse_another_host(url)
    finally:
        server.terminate()
        server.wait(30)
        server.stderr.close()


def refuse_another_host(url):
    """A page of another site, whose name was bent to this machine, gets nothing."""
    from http.client import HTTPConnection
    from urllib.parse import urlsplit

    connection = HTTPConnection("127.0.0.1", urlsplit(url).port, timeout=10)
    connection.request(
        "POST", "/mcp", "{}", {"Host": "evil.example", "Content-Type": "application/json"}
    )
    assert connection.getresponse().status == 421
    connection.close()


def test_targets_in_uris_are_decoded():
    assert serving.target_of("ctx://pack/a%20b") == "a b"
