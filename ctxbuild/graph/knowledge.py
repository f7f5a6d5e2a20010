"""What Python itself brings: names, containers, and attributes too common to mean one class."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BUILTINS = _words(
    """
    ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup
    BlockingIOError BrokenPipeError BufferError BytesWarning ChildProcessError
    ConnectionAbortedError ConnectionError ConnectionRefusedError ConnectionResetError
    DeprecationWarning EOFError Ellipsis EncodingWarning EnvironmentError Exception
    ExceptionGroup False FileExistsError FileNotFoundError FloatingPointError FutureWarning
    GeneratorExit IOError ImportError ImportWarning IndentationError IndexError
    InterruptedError IsADirectoryError KeyError KeyboardInterrupt LookupError MemoryError
    ModuleNotFoundError NameError None NotADirectoryError NotImplemented NotImplementedError
    OSError OverflowError PendingDeprecationWarning PermissionError ProcessLookupError
    RecursionError ReferenceError ResourceWarning RuntimeError RuntimeWarning
    StopAsyncIteration StopIteration SyntaxError SyntaxWarning SystemError SystemExit TabError
    TimeoutError True TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError
    UnicodeError UnicodeTranslateError UnicodeWarning UserWarning ValueError Warning
    ZeroDivisionError abs aiter all anext any ascii bin bool breakpoint bytearray bytes
    callable chr classmethod compile complex copyright credits delattr dict dir divmod
    enumerate eval exec exit filter float format frozenset getattr globals hasattr hash help
    hex id input int isinstance issubclass iter len license list locals map max memoryview min
    next object oct open ord pow print property quit range repr reversed round set setattr
    slice sorted staticmethod str sum super tuple type vars zip __build_class__ __debug__
    __doc__ __file__ __import__ __loader__ __name__ __package__ __path__ __spec__
    """
)

# What these return depends on their arguments, which a chain does not keep.
PASSING = _words(
    """
    next iter sorted reversed list tuple set frozenset dict min max sum getattr vars enumerate
    zip filter map type eval globals locals anext aiter property staticmethod classmethod
    copy.copy copy.deepcopy typing.cast functools.partial functools.reduce functools.lru_cache
    functools.cache functools.wraps functools.singledispatch itertools.chain
    itertools.chain.from_iterable itertools.islice itertools.groupby contextlib.closing
    contextlib.nullcontext contextvars.copy_context weakref.ref weakref.proxy
    operator.attrgetter importlib.import_module import_module pickle.loads pickle.load cast
    partial deepcopy wraps
    """
)

# Bases that bring no attribute of their own beyond those of `object`.
INERT_BASES = _words(
    """
    object Generic Protocol ABC NamedTuple Hashable Sized Callable SupportsInt SupportsFloat
    SupportsIndex
    """
)

OBJECT_ATTRIBUTES = _words(
    """
    __class__ __dict__ __doc__ __module__ __name__ __qualname__ __init__ __new__ __repr__
    __str__ __eq__ __ne__ __hash__ __lt__ __le__ __gt__ __ge__ __getattribute__ __setattr__
    __delattr__ __reduce__ __reduce_ex__ __getstate__ __sizeof__ __format__ __dir__
    __subclasshook__ __init_subclass__ __bases__ __mro__ __subclasses__ __slots__ __weakref__
    __annotations__ __base__ __abstractmethods__ mro
    """
)

WRAPPERS = frozenset({"Optional", "Union", "Annotated", "ClassVar", "Final", "Required",
                      "NotRequired", "ReadOnly", "InitVar", "Awaitable", "Coroutine", "Future",
                      "Task", "Unpack"})  # fmt: skip

MAPPINGS = _words(
    """
    dict Dict Mapping MutableMapping DefaultDict defaultdict OrderedDict Counter ChainMap
    WeakValueDictionary WeakKeyDictionary
    """
)

SEQUENCES = _words(
    """
    list List tuple Tuple set Set frozenset FrozenSet AbstractSet MutableSet Sequence
    MutableSequence Iterable Iterator Generator AsyncIterable AsyncIterator AsyncGenerator
    Collection Container Reversible deque Deque KeysView ValuesView ItemsView WeakSet
    """
)

# Boxes of one value, and what takes it out.
CELLS = _words(
    """
    ContextVar Queue LifoQueue PriorityQueue SimpleQueue JoinableQueue ReferenceType
    """
)
OPENERS = frozenset({"get", "get_nowait"})

CONTEXT_MAKERS = frozenset({"contextmanager", "asynccontextmanager"})
CONTEXTS = frozenset({"ContextManager", "AsyncContextManager", "AbstractContextManager",
                      "AbstractAsyncContextManager"})  # fmt: skip
PROPERTY_MAKERS = frozenset({"property", "cached_property", "abstractproperty", "classproperty",
                             "lazyproperty", "hybrid_property", "reify"})  # fmt: skip

ENUMS = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"})

# Attributes of the types of the standard library that pass through most code: on a
# receiver of unknown type they say nothing about the one class here that has them too.
COMMON = _words(
    """
    acquire active add addHandler add_argument append appendleft args as_posix as_uri
    assertEqual assert_called astimezone autocommit basicConfig begin bind bit_length
    cache_clear cache_info cancel cancelled capitalize casefold center chmod clear clone close
    closed code commit communicate compile configure connect connection convert copy count
    create critical cursor cwd data date datetime day debug decode decoder default delete
    detach difference difference_update digest discard dispatch done dst dump dumps elapsed
    elements empty encode encoding end endswith error errors events exc_info exception execute
    executemany exists expand expandtabs expanduser extend extendleft fetchall fetchmany
    fetchone fileno fill filter find findall finditer fire first flush format format_map
    formatter fromisoformat fromkeys full fullmatch get getEffectiveLevel getLogger
    get_context get_event_loop get_name getchild getheader getpeername getroot getsockname
    getvalue glob group groupby groupdict groups handle handler has_key hash head header
    headers hex hexdigest hexversion host index info init input insert intersection invoke
    isEnabledFor is_absolute is_alive is_dir is_file is_set isalnum isalpha isascii isdecimal
    isdigit isdisjoint isidentifier islower isnumeric isoformat isprintable isspace issubset
    issuperset istitle isupper item items iter iterdir iteritems iterkeys itervalues join
    joinpath keys kill last lastgroup lastindex length line list listen ljust load loads lock
    log lower lstrip main makefile maketrans mark match message method mkdir mode month
    most_common move name next notify notify_all now ok open options parent parse parse_args
    partition parts path peek pid poll pop popitem popleft port post pread prepare print
    process put put_nowait qsize query raw read read_bytes read_text readable readinto
    readline readlines recv register regs relative_to release remove removeHandler
    removeprefix removesuffix rename render replace request reset resolve resolve_name
    response result returncode reverse rfind rglob rindex rjust rmdir rollback rotate
    rpartition rsplit rstrip run samefile save scanner search seek seekable select send
    send_signal sendall sendto session set setLevel set_exception set_name set_result
    setblocking setdefault settimeout setup shutdown size sleep sort source span split
    splitlines start startswith stat status stem step stop strftime string strip strptime sub
    submit subtract suffix swapcase symlink_to symmetric_difference
    symmetric_difference_update tag task_done tell template terminate test text time timestamp
    timetuple title to_bytes today tolist total total_seconds touch translate truncate type
    union unlink unregister update upper url usage utcoffset utctimetuple value values verify
    view wait warn warning weekday width with_name with_suffix work writable write write_bytes
    write_text writelines year zfill
    """
)
