"""A server on this machine that speaks the chat protocol with scripted replies."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Reply:
    """What the server sends once.

    Attributes:
        content: of the answer's message; plain data is sent as JSON text.
        status: 200, or an error's, whose message is the content.
        raw: bytes in place of the whole body.
        delay: seconds to wait before anything is sent.
    """

    content: Any = ""
    status: int = 200
    raw: bytes | None = None
    delay: float = 0.0

    @property
    def body(self) -> bytes:
        if self.raw is not None:
            return self.raw
        text = self.content if isinstance(self.content, str) else json.dumps(self.content)
        if self.status != 200:
            return json.dumps({"error": {"message": text, "type": "error", "param": None}}).encode()
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        answer = {"id": "1", "object": "chat.completion", "created": 0, "model": "small"}
        return json.dumps({**answer, "choices": [choice]}).encode()


@dataclass
class ChatServer:
    """Answers with `replies` in order, the last one for ever, or by a function of the request."""

    replies: list[Reply] = field(default_factory=list)
    answer: Callable[[dict[str, Any]], Any] | None = None
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                outer.asked.append(json.loads(self.rfile.read(length)))
                outer.keys.append(self.headers.get("Authorization", ""))
                reply = outer._reply(self.path)
                time.sleep(reply.delay)
                try:
                    self.send_response(reply.status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(reply.body)))
                    self.end_headers()
                    self.wfile.write(reply.body)
                except OSError:
                    return  # the client did not wait

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def _reply(self, path: str) -> Reply:
        if path != "/v1/chat/completions":
            return Reply("no such path", 404)
        if self.answer is not None:
            found = self.answer(self.asked[-1])
            return found if isinstance(found, Reply) else Reply(found)
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def environment(self) -> dict[str, str]:
        return {
            "CTXBUILD_MODEL_URL": self.url,
            "CTXBUILD_MODEL_NAME": "small",
            "CTXBUILD_MODEL_KEY": "sesame-open",
        }

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
