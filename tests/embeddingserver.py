"""A server on this machine that speaks the embedding protocol: words of one meaning, one axis."""

from __future__ import annotations

import json
import re
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MEANINGS = (
    "save saved saves keep keeps put store persist",
    "load loaded get read fetch",
    "price prices cost total sum money",
    "path file disk directory",
)
"""Each line is an axis; every other word falls on a last one, where it counts little."""


def vector(text: str) -> list[float]:
    """How often a text says each of the meanings."""
    said = re.findall(r"[a-z]+", text.lower())
    axes = [float(sum(word in meaning.split() for word in said)) for meaning in MEANINGS]
    return [*axes, 0.01 + 0.001 * len(said)]


@dataclass
class EmbeddingServer:
    """Answers every request, or as it is told to.

    Attributes:
        status: of the answers.
        raw: bytes in place of an answer's body.
        lost: vectors that are left out of an answer.
        delay: seconds before an answer.
        asked: the texts of each request.
        keys: the key that came with each.
    """

    status: int = 200
    raw: bytes | None = None
    lost: int = 0
    delay: float = 0.0
    asked: list[list[str]] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    port: int = 0

    def __post_init__(self) -> None:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                asked = json.loads(self.rfile.read(length))
                outer.asked.append(asked["input"])
                outer.models.append(asked["model"])
                outer.keys.append(self.headers.get("Authorization", ""))
                body = outer.body(self.path, asked)
                time.sleep(outer.delay)
                try:
                    self.send_response(outer.status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    return  # the client did not wait

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.port = self._server.server_port
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def body(self, path: str, asked: dict[str, Any]) -> bytes:
        """What is sent: the vectors in reverse order, as their numbers allow."""
        if self.raw is not None:
            return self.raw
        if self.status != 200 or path != "/v1/embeddings":
            return json.dumps({"error": {"message": "no", "type": "error", "param": None}}).encode()
        texts = asked["input"][self.lost :]
        data = [
            {"object": "embedding", "index": place, "embedding": vector(text)}
            for place, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        answer = {"object": "list", "data": data[::-1], "model": asked["model"], "usage": usage}
        return json.dumps(answer).encode()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def texts(self) -> list[str]:
        """Every text that was asked for."""
        return [text for request in self.asked for text in request]

    def environment(self) -> dict[str, str]:
        return {
            "CTXBUILD_EMBEDDINGS_URL": self.url,
            "CTXBUILD_EMBEDDINGS_NAME": "meanings",
            "CTXBUILD_EMBEDDINGS_KEY": "sesame-open",
        }

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
