"""Facts, plans and blocks as bytes for the engine, and back: msgpack through msgspec.

msgspec because it decodes straight into typed frozen dataclasses, several times
faster than building them by hand; imported on first use, since a build with
nothing to do needs none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar, cast

T = TypeVar("T")


@lru_cache(maxsize=1)
def _encode() -> Callable[[Any], bytes]:
    import msgspec

    return msgspec.msgpack.Encoder().encode


@lru_cache(maxsize=64)
def _decoder(kind: Any) -> Callable[[bytes], Any]:
    import msgspec

    return msgspec.msgpack.Decoder(kind).decode


def encode(value: Any) -> bytes:
    """Any of the model's values as bytes, the same for equal values."""
    return _encode()(value)


def decode(data: bytes, kind: Any) -> Any:
    """The inverse of `encode`."""
    return _decoder(kind)(data)


def part(name: str, kind: Any, default: T) -> Callable[[Mapping[str, bytes]], T]:
    """A facet's decoder: one part of a result, the default where it has none."""

    def read(parts: Mapping[str, bytes]) -> T:
        data = parts.get(name)
        return default if data is None else cast("T", _decoder(kind)(data))

    return read


def whole(name: str, kind: type[T]) -> Callable[[Mapping[str, bytes]], T]:
    """The decoder of a part that a result always has."""
    return lambda parts: cast("T", decode(parts[name], kind))
