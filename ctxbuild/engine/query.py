"""How to declare what the engine computes: inputs, queries, indexes, collections, facets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    import sqlite3

    from ctxbuild.engine.database import Context

T = TypeVar("T")

ABSENT = b""
"""The digest of a facet that has no value."""


class Result(NamedTuple):
    """What a query computed.

    Attributes:
        parts: named byte strings, stored together; each is a facet.
        digests: digests of facets finer than a part (say, one function of a
            file): a dependent that asks for such a facet is left alone while it
            is equal, whatever happens to the part around it.
    """

    parts: Mapping[str, bytes]
    digests: Mapping[str, bytes] = {}


class Input(NamedTuple):
    """A value that comes from outside.

    Attributes:
        name: its name in nodes.
        read: (key, facet) to the present value, `ABSENT` if there is none.
            Absence is a value: who asked for what is missing depends on that.
    """

    name: str
    read: Callable[[str, str], bytes]


class Query(NamedTuple):
    """A pure function of the inputs and queries that it asks the context for.

    Attributes:
        name: its name in nodes and run lists.
        version: changes whenever the function, or what it uses, may answer differently.
        compute: the function.
        stage: False for a projection, a cheap regrouping that run lists leave out.
    """

    name: str
    version: str
    compute: Callable[[Context, str], Result]
    stage: bool = True


class Prepared(NamedTuple):
    """The self-contained work behind one key of a content query.

    Attributes:
        content: digest of all that the result depends on: equal content, equal result.
        load: gives the task, read only if no equal content was computed before.
    """

    content: bytes
    load: Callable[[], Any]


class ContentQuery(NamedTuple):
    """A query whose result is a function of content alone, wherever that content stands.

    Results are stored by content, so renames, branch switches and other
    checkouts reuse them, and `work` can run in other processes.

    Attributes:
        prepare: asks the context for the content; None if the key has none.
        work: task to result; a module-level function.
    """

    name: str
    version: str
    prepare: Callable[[Context, str], Prepared | None]
    work: Callable[[Any], Result]
    stage: bool = True


class Index(NamedTuple):
    """Terms to the places that mention them, kept up to date by difference.

    A dependent depends on the postings of the term it asked for, nothing else.
    A posting is (key of the indexed query, item).

    Attributes:
        source: the query that is indexed, `facet` the part that the terms come from.
        terms: that part to its (term, item) pairs.
        keys: all keys of the query that belong to the index now.
    """

    name: str
    source: ContentQuery
    facet: str
    terms: Callable[[bytes], Iterable[tuple[str, str]]]
    keys: Callable[[], Iterable[str]]


class Collection(NamedTuple):
    """Tables of their own that hold something of every key of a query, kept up by difference.

    A dependent depends on the whole of it: for answers that no list of terms
    foresees, such as a search. It is verified again after each change, so that it
    should be a query whose result often stays equal.

    Attributes:
        source: the query that is collected, `facet` the part that the tables hold.
        keep: replaces what one node contributes: (connection, number of the node, its key,
            the part or None). Says whether anything differs. It runs in the engine's
            transaction.
        keys: all keys of the query that belong to it now.
    """

    name: str
    source: ContentQuery
    facet: str
    keep: Callable[[sqlite3.Connection, int, str, bytes | None], bool]
    keys: Callable[[], Iterable[str]]


AnyQuery = Query | ContentQuery


class Facet(Generic[T]):
    """A typed view of one part, or one finer piece, of a query's result.

    Args:
        source: the query or input.
        name: the facet's name: the digest that a dependent is bound to.
        decode: all parts of the result (for an input: `{name: value}`) to the value.
    """

    __slots__ = ("decode", "name", "source")

    def __init__(
        self,
        source: AnyQuery | Input,
        name: str,
        decode: Callable[[Mapping[str, bytes]], T],
    ) -> None:
        self.source = source
        self.name = name
        self.decode = decode
