"""The toolbox as a server of the Model Context Protocol: packs as resources, look-ups as tools.

Answers that a model reads as text have no structured content beside it: several
agents show the model only one of them, and then the structured one.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.lowlevel import NotificationOptions
from mcp.server.session import ServerSession
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
)
from mcp.shared.exceptions import MCPError

from ctxbuild import __version__
from ctxbuild.errors import CtxbuildError, UsageError
from ctxbuild.serve.toolbox import MOST_TOKENS, SCHEME, Answer, Toolbox

T = TypeVar("T")
Ctx = ServerRequestContext[Any, Any]

LOG = logging.getLogger("ctxbuild.mcp")
HOST = "127.0.0.1"
_MOST_SUBSCRIPTIONS = 1_000
_PATIENCE = 10  # pauses between looks are at least so many times as long as a look takes
_INSTRUCTIONS = """\
Packs of this repository: exactly the context that a task needs, within a token budget.
Start with list_packs, read one with get_pack, and after edits ask delta_since with its
digest instead of reading it again. expand gives the full text of a file or symbol with
what it uses and who uses it; why says why a unit is in a pack or is not. What you find
and must not forget, remember: it outlives the session.
"""


class Tool(NamedTuple):
    """A tool, read-only unless it says that it writes.

    Attributes:
        arguments: name to its JSON schema.
        required: names that must be given.
        structured: whether the facts are the answer; else the text is.
        writes: whether a file of the project may differ afterwards.
    """

    name: str
    about: str
    answer: Callable[..., Answer]
    arguments: dict[str, dict[str, Any]]
    required: tuple[str, ...] = ()
    structured: bool = False
    writes: bool = False

    def declared(self) -> types.Tool:
        """As a client lists it."""
        return types.Tool(
            name=self.name,
            description=self.about,
            input_schema={
                "type": "object",
                "properties": self.arguments,
                "required": list(self.required),
                "additionalProperties": False,
            },
            output_schema={"type": "object"} if self.structured else None,
            annotations=types.ToolAnnotations(
                read_only_hint=not self.writes,
                destructive_hint=False,
                idempotent_hint=True if self.writes else None,
                open_world_hint=False,
            ),
        )


def tools_of(box: Toolbox) -> tuple[Tool, ...]:
    """The tools over a toolbox."""
    target = {"type": "string", "description": "Name of a pack, see list_packs."}
    unit = {"type": "string", "description": "`path` or `path::Class.method` in the project."}

    def limit(default: int) -> dict[str, Any]:
        about = f"Most tokens of the answer; {default:,} unless given, at most {MOST_TOKENS:,}."
        return {"type": "integer", "description": about, "default": default}

    return (
        Tool(
            "list_packs",
            "The packs of this project with budget, size and digest.",
            box.list_packs,
            {},
            structured=True,
        ),
        Tool(
            "get_pack",
            "A pack as it is now: the context that its task needs. Its digest stands at the end.",
            box.get_pack,
            {
                "target": target,
                "max_tokens": limit(20_000),
                "part": {
                    "type": "integer",
                    "description": "Which part, where the pack has more tokens than that.",
                    "default": 1,
                },
            },
            ("target",),
        ),
        Tool(
            "why",
            "Why a unit is in a pack or is not, in which form and at which cost.",
            box.why,
            {"target": target, "unit": unit, "max_tokens": limit(4_000)},
            ("target",),
            structured=True,
        ),
        Tool(
            "expand",
            "The full text of a file or symbol, with what it uses and who uses it.",
            box.expand,
            {"unit": unit, "max_tokens": limit(4_000)},
            ("unit",),
        ),
        Tool(
            "delta_since",
            "What turns a pack that was read before into the present one.",
            box.delta_since,
            {
                "target": target,
                "digest": {"type": "string", "description": "Of the pack that was read."},
                "max_tokens": limit(20_000),
            },
            ("target", "digest"),
        ),
        Tool(
            "assemble",
            "The messages to send next: a pack around a session, old turns compacted, in budget.",
            box.assemble,
            {
                "target": target,
                "messages": {
                    "type": "array",
                    "items": {"type": "object"},
                    "description": "The whole session, in the Anthropic or an OpenAI API's form.",
                },
                "system": {
                    "type": "string",
                    "description": "The system text, where the API takes it apart: it counts.",
                    "default": "",
                },
            },
            ("target", "messages"),
            structured=True,
        ),
        Tool(
            "remember",
            "Adds a finding to the notes file, which later sessions read; merges what is known.",
            box.remember,
            {
                "finding": {
                    "type": "string",
                    "description": "`path: found X; severity Y; suggest Z`; the last two may go.",
                },
                "notes": {
                    "type": "string",
                    "description": "The notes file; by default the one that memory layers read.",
                    "default": "",
                },
            },
            ("finding",),
            writes=True,
        ),
    )


class Bus(InMemorySubscriptionBus):
    """Tells listeners of changes, and whether there are any."""

    def __init__(self) -> None:
        super().__init__()
        self.listeners = 0

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Registers a listener; what is returned ends that."""
        end = super().subscribe(listener)
        self.listeners += 1
        ended = False

        def unsubscribe() -> None:
            nonlocal ended
            if not ended:
                ended = True
                self.listeners -= 1
                end()

        return unsubscribe


class PackServer:
    """A server over a toolbox.

    Args:
        box: answers.
        interval: seconds between looks at the tree while somebody has subscribed.

    Attributes:
        server: the SDK's server, to be run on a transport.
    """

    def __init__(self, box: Toolbox, interval: float = 1.0) -> None:
        self._box = box
        self._interval = interval
        self._tools = {tool.name: tool for tool in tools_of(box)}
        self._bus = Bus()
        # Clients of the older protocol: (client, resource), the oldest first.
        self._subscribed: dict[tuple[str, str], ServerSession] = {}
        self.server: Server[None] = Server(
            "ctxbuild",
            version=__version__,
            title="ctxbuild",
            instructions=_INSTRUCTIONS,
            lifespan=self._lifespan,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_subscriptions_listen=ListenHandler(self._bus),
        )

    # --- tools ----------------------------------------------------------------------------

    async def _list_tools(
        self, _ctx: Ctx, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool.declared() for tool in self._tools.values()])

    async def _call_tool(
        self, _ctx: Ctx, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"unknown tool {params.name!r}")
        try:
            arguments = checked(tool, params.arguments or {})
            answer = await _aside(partial(tool.answer, **arguments))
        except CtxbuildError as error:
            return _refusal(str(error))
        except Exception:
            # Only errors that were made for readers are told; the log has the rest.
            LOG.exception("%s failed", params.name)
            return _refusal(f"{params.name}: internal error, see the server's log")
        if tool.structured:
            content = types.TextContent(type="text", text=answer.text)
            return types.CallToolResult(content=[content], structured_content=answer.facts)
        texts = [answer.text, *([answer.facts["note"]] if "note" in answer.facts else [])]
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text) for text in texts],
            _meta={"ctxbuild/facts": answer.facts},
        )

    # --- resources ------------------------------------------------------------------------

    async def _list_resources(
        self, _ctx: Ctx, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        listed = (await self._asked(self._box.list_packs)).facts["packs"]
        return types.ListResourcesResult(resources=[_resource(each) for each in listed])

    async def _list_templates(
        self, _ctx: Ctx, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template=f"{SCHEME}{{target}}",
            name="pack",
            description="A pack of the ctxfile, by the name of its target.",
            mime_type="text/markdown",
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def _read_resource(
        self, _ctx: Ctx, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        pack = await self._asked(lambda: self._box.present(target_of(uri)), uri)
        contents = types.TextResourceContents(
            uri=uri,
            mime_type="text/markdown",
            text=pack.text,
            _meta={"ctxbuild/facts": pack.facts},
        )
        return types.ReadResourceResult(contents=[contents])

    async def _asked(self, question: Callable[[], T], uri: str = "") -> T:
        try:
            return await _aside(question)
        except CtxbuildError as error:
            data = {"uri": uri} if uri else None
            raise MCPError(types.INVALID_PARAMS, str(error), data) from error
        except Exception as error:
            LOG.exception("%s failed", uri or "listing packs")
            raise MCPError(types.INTERNAL_ERROR, "internal error, see the server's log") from error

    # --- subscriptions --------------------------------------------------------------------

    async def _subscribe(self, ctx: Ctx, params: types.SubscribeRequestParams) -> types.EmptyResult:
        uri = str(params.uri)
        if await self._asked(lambda: target_of(uri) not in self._box.targets(), uri):
            raise MCPError(types.INVALID_PARAMS, f"{uri}: no such pack", {"uri": uri})
        self._subscribed[_client(ctx), uri] = ctx.session
        while len(self._subscribed) > _MOST_SUBSCRIPTIONS:
            del self._subscribed[next(iter(self._subscribed))]
        return types.EmptyResult()

    async def _unsubscribe(
        self, ctx: Ctx, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        self._subscribed.pop((_client(ctx), str(params.uri)), None)
        return types.EmptyResult()

    @asynccontextmanager
    async def _lifespan(self, _server: Server[None]) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch)
            yield
            tasks.cancel_scope.cancel()

    async def _watch(self) -> None:
        """Looks at the tree as long as somebody wants to know, and tells of packs that changed."""
        stamp: tuple[Any, ...] | None = None
        known: dict[str, str] = {}
        pause = self._interval
        while True:
            if not (self._bus.listeners or self._subscribed):
                stamp, known = None, {}
                await anyio.sleep(self._interval)
                continue
            started = time.monotonic()
            try:
                present = await _aside(self._box.stamp)
                pause = max(self._interval, _PATIENCE * (time.monotonic() - started))
                if present != stamp:
                    digests = await _aside(lambda: self._box.digests(self._box.targets()))
                    if stamp is not None:
                        await self._tell(known, digests)
                    known, stamp = digests, await _aside(self._box.stamp)
            except CtxbuildError as error:
                LOG.info("not watching: %s", error)  # a ctxfile that is being edited
            except Exception:
                LOG.exception("looking for changes failed")
            await anyio.sleep(pause)

    async def _tell(self, before: Mapping[str, str], now: Mapping[str, str]) -> None:
        for name in now:
            if name in before and before[name] != now[name]:
                uri = f"{SCHEME}{name}"
                await self._bus.publish(ResourceUpdated(uri))
                for (_, wanted), session in list(self._subscribed.items()):
                    if wanted == uri:
                        await session.send_resource_updated(uri)
        if before.keys() != now.keys():
            await self._bus.publish(ResourcesListChanged())
            clients = {client: session for (client, _), session in self._subscribed.items()}
            for session in clients.values():
                await session.send_resource_list_changed()

    # --- transports -----------------------------------------------------------------------

    async def stdio(self) -> None:
        """Serves one client on stdin and stdout until it hangs up."""
        options = self.server.create_initialization_options(
            NotificationOptions(resources_changed=True)
        )
        async with stdio_server() as (reading, writing):
            await self.server.run(reading, writing, options)

    async def http(self, port: int, started: Callable[[int], None]) -> None:
        """Serves any number of clients over HTTP, on this machine alone.

        Args:
            port: 0 for a free one.
            started: told the port.

        Raises:
            UsageError: the port is taken.
        """
        import socket

        import uvicorn

        bound = socket.socket()
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind((HOST, port))
            bound.listen()  # whoever is told the port may come at once
        except OSError as error:
            bound.close()
            raise UsageError(
                f"port {port}: cannot be used: {error.strerror}", "choose another one"
            ) from error
        # Given this host, the SDK also refuses requests that a page of another site sends.
        app = self.server.streamable_http_app(host=HOST)
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2)
        started(bound.getsockname()[1])
        with bound:
            await uvicorn.Server(config).serve(sockets=[bound])


def checked(tool: Tool, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call, if they are what the tool declares.

    Raises:
        UsageError: one is missing, unknown or of another type.
    """
    kinds: dict[str, tuple[type, str]] = {
        "string": (str, "text"),
        "integer": (int, "a number"),
        "array": (list, "a list of objects"),
    }
    for name in tool.required:
        if name not in given:
            raise UsageError(f"{tool.name}: the argument {name!r} is missing")
    for name, value in given.items():
        if name not in tool.arguments:
            known = ", ".join(tool.arguments) or "none"
            raise UsageError(f"{tool.name}: unknown argument {name!r}", f"it takes {known}")
        kind, word = kinds[tool.arguments[name]["type"]]
        wrong = isinstance(value, list) and not all(isinstance(each, dict) for each in value)
        if not isinstance(value, kind) or isinstance(value, bool) or wrong:
            raise UsageError(f"{tool.name}: {name!r} must be {word}")
    return dict(given)


def target_of(uri: str) -> str:
    """The target whose pack a URI means.

    Raises:
        UsageError: it is no URI of a pack.
    """
    if not uri.startswith(SCHEME) or not (name := unquote(uri.removeprefix(SCHEME))):
        raise UsageError(f"{uri}: is no pack", f"write {SCHEME}TARGET")
    return name


def _client(ctx: Ctx) -> str:
    """Which client asks: over HTTP its session, elsewhere there is only one."""
    headers = getattr(ctx.request, "headers", {})
    return str(headers.get("mcp-session-id", ""))


def _resource(facts: Mapping[str, Any]) -> types.Resource:
    size = f"{facts['tokens']:,} of " if facts["tokens"] else ""
    return types.Resource(
        uri=facts["uri"],
        name=facts["target"],
        title=f"Pack {facts['target']}",
        description=f"{size}{facts['budget']:,} tokens, {facts['status']}",
        mime_type="text/markdown",
    )


def _refusal(message: str) -> types.CallToolResult:
    content = types.TextContent(type="text", text=message)
    return types.CallToolResult(content=[content], is_error=True)


def _aside(work: Callable[[], T]) -> Awaitable[T]:
    """Runs work in a thread; a client that hangs up meanwhile is not waited for."""
    return anyio.to_thread.run_sync(work, abandon_on_cancel=True)
