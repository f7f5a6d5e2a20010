"""What a file really uses, as jedi sees it: the oracle that is not ours.

jedi takes seconds to minutes per file, so answers are kept in the cache directory,
under the version of jedi and of the corpus.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.corpus import CORPORA, HOME, CorpusError, source

if TYPE_CHECKING:
    from jedi import Script
    from jedi.api.classes import Name

Unit = tuple[str, str]

_KINDS = ("function", "class", "property")
_VERSION = "1"
OUTSIDE = "(outside)"


@dataclass(frozen=True, slots=True)
class Answer:
    """What jedi says about one name of a file.

    Attributes:
        line, column: where the name stands, from 1 and from 0.
        name: the name.
        called: whether it is the attribute of a call, `x.name(`.
        goes_to: the definitions that `goto` leads to through imports; where it leads
            nowhere, those that `infer` gives. (path, qualified name, kind); what is not
            of the repository has the path `OUTSIDE`.
        inferred: for attribute calls, what `infer` gives besides.
    """

    line: int
    column: int
    name: str
    called: bool
    goes_to: tuple[tuple[str, str, str], ...]
    inferred: tuple[tuple[str, str, str], ...] = ()


def gold(answers: list[Answer], path: str) -> set[Unit]:
    """Functions, methods and classes of the repository that a file uses, without its own."""
    return {
        (where, name)
        for answer in answers
        for where, name, kind in answer.goes_to
        if kind in _KINDS and where not in (OUTSIDE, path)
    }


def entries(name: str, most: int) -> list[str]:
    """Modules of a package that import from it: evenly spaced in size, the largest among them."""
    corpus, tree = CORPORA[name], source(name)
    package = corpus.package.rpartition("/")[2]
    imports = re.compile(rf"^\s*(from \.|(from|import) {package}\b)", re.MULTILINE)
    found = sorted(
        (len(text), file.relative_to(tree).as_posix())
        for file in (tree / corpus.package).rglob("*.py")
        if imports.search(text := file.read_text(encoding="utf-8"))
    )
    last = len(found) - 1
    if last < most:
        return sorted(path for _, path in found)
    places = {round(last * step / (most - 1)) for step in range(most)}
    return sorted(found[place][1] for place in places)


def answers(
    name: str, paths: list[str], workers: int = 1, *, only_cached: bool = False
) -> dict[str, list[Answer]]:
    """Jedi's answers per path of a corpus, from the cache where they are.

    Args:
        name: of the corpus.
        paths: its files.
        workers: processes to ask in.
        only_cached: leave out what is not in the cache.

    Raises:
        CorpusError: jedi is not installed.
    """
    try:
        import jedi
    except ImportError as error:
        message = "jedi is not installed: pip install -e '.[dev]'"
        raise CorpusError(message) from error
    home = HOME / "oracle" / f"jedi-{jedi.__version__}-{_VERSION}" / source(name).name
    home.mkdir(parents=True, exist_ok=True)
    above = Path(CORPORA[name].package).parent
    files = {path: home / (path.replace("/", "+") + ".json") for path in paths}
    if only_cached:
        files = {path: file for path, file in files.items() if file.exists()}
    missing = [path for path, file in files.items() if not file.exists()]
    tasks = [(source(name), above, path, files[path]) for path in missing]
    if workers > 1 and len(tasks) > 1:
        with ProcessPoolExecutor(workers) as pool:
            list(pool.map(_ask, *zip(*tasks, strict=True)))
    else:
        for task in tasks:
            _ask(*task)
    return {
        path: [_read(each) for each in json.loads(file.read_text())] for path, file in files.items()
    }


def _read(data: list[Any]) -> Answer:
    line, column, name, called, goes_to, inferred = data
    return Answer(
        line, column, name, called, tuple(map(tuple, goes_to)), tuple(map(tuple, inferred))
    )


def _ask(tree: Path, above: Path, path: str, file: Path) -> None:
    """Ask jedi about every name of a file and write the answers down."""
    import jedi

    sys.setrecursionlimit(10_000)
    libraries = [each for each in sys.path if "python3" in each and "site-packages" not in each]
    root = tree.resolve()
    project = jedi.Project(
        root,
        sys_path=[str(root / above), *libraries],
        smart_sys_path=False,
        load_unsafe_extensions=False,
    )
    script = jedi.Script(path=root / path, project=project)
    rows = (root / path).read_text(encoding="utf-8").splitlines()
    said = [list(each) for each in _said(script, root, rows)]
    partial = file.with_suffix(".partial")
    partial.write_text(json.dumps(said))
    partial.replace(file)


def _said(script: Script, root: Path, rows: list[str]) -> Iterator[tuple[Any, ...]]:
    for name in script.get_names(all_scopes=True, references=True, definitions=True):
        row = rows[name.line - 1] if name.line <= len(rows) else ""
        before, after = row[: name.column], row[name.column + len(name.name) :]
        called = before.rstrip().endswith(".") and after.lstrip().startswith("(")
        goes_to = _found(script, "goto", name, root)
        inferred = _found(script, "infer", name, root) if called or not goes_to else []
        if goes_to or inferred:
            yield (
                *(name.line, name.column, name.name, called),
                *(goes_to or inferred, inferred if called else []),
            )


def _found(script: Script, how: str, name: Name, root: Path) -> list[tuple[str, str, str]]:
    options = {"follow_imports": True} if how == "goto" else {}
    try:
        found = getattr(script, how)(name.line, name.column, **options)
        return sorted({each for d in found if (each := _unit(d, root))})
    except Exception:  # noqa: BLE001  # jedi stumbles over some code, in any way it likes
        return []


def _unit(definition: Name, root: Path) -> tuple[str, str, str] | None:
    """Path, qualified name and kind; None for what stands inside a function."""
    parts = [definition.name]
    above = definition.parent()
    while above is not None and above.type not in ("module", "namespace"):
        if above.type == "function":
            return None
        parts.append(above.name)
        above = above.parent()
    path = definition.module_path
    where = OUTSIDE
    if path is not None and path.is_relative_to(root):
        where = path.relative_to(root).as_posix()
    return where, ".".join(reversed(parts)), definition.type


if __name__ == "__main__":
    for corpus_name in sys.argv[1:]:
        for each in entries(corpus_name, 12):
            answers(corpus_name, [each])
