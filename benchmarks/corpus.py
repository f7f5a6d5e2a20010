"""Real source trees: sdists pinned by version and hash, fetched once into the cache directory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parents[1]
HOME = ROOT / "cache" / "corpora"
TIMEOUT = 300.0


class CorpusError(Exception):
    """A source archive cannot be had."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """One pinned sdist.

    Attributes:
        name: as the package registry spells it.
        sha256: of the archive.
        package: directory of the import package inside the sdist.
    """

    name: str
    version: str
    sha256: str
    package: str


CORPORA = {
    corpus.name.lower(): corpus
    for corpus in (
        Corpus(
            "attrs",
            "26.1.0",
            "d03ceb89cb322a8fd706d4fb91940737b6642aa36998fe130a9bc96c985eff32",
            "src/attr",
        ),
        Corpus(
            "click",
            "8.5.1",
            "9bbfada76703fd1d784b83eea012e3e8c6a001a876543ef104fa56aaaeb072b4",
            "src/click",
        ),
        Corpus(
            "Django",
            "5.1.4",
            "de450c09e91879fa5a307f696e57c851955c910a438a35e6b4c895e86bedc82a",
            "django",
        ),
        Corpus(
            "Flask",
            "3.1.0",
            "5f873c5184c897c8d9d1b05df1e3d01b14910ce69607a117bd3277098a5836ac",
            "src/flask",
        ),
        Corpus(
            "Jinja2",
            "3.1.6",
            "0137fb05990d35f1275a587e9aee6d56da821fc83491a0fb838183be43f66d6d",
            "src/jinja2",
        ),
        Corpus(
            "packaging",
            "26.4",
            "c4b671c41ddb9bf26e543c37723610d28fb6bf7affc4da17cf048d419d2c062a",
            "src/packaging",
        ),
        Corpus(
            "requests",
            "2.34.2",
            "f288924cae4e29463698d6d60bc6a4da69c89185ad1e0bcc4104f584e960b9ed",
            "src/requests",
        ),
        Corpus(
            "rich",
            "15.0.0",
            "edd07a4824c6b40189fb7ac9bc4c52536e9780fbbfbddf6f1e2502c31b068c36",
            "rich",
        ),
        Corpus(
            "SQLAlchemy",
            "2.1.9",
            "d700a8b2edfb26282a470333d6bc4a454c4acda4d201a3bea7b72fa76c217d28",
            "lib/sqlalchemy",
        ),
    )
}


RELEASES = {
    "flask": (
        ("3.0.0", "cfadcdb638b609361d29ec22360d6070a77d7463dcb3ab08d2c2f2f168845f58"),
        ("3.0.1", "6489f51bb3666def6f314e15f19d50a1869a19ae0e8c9a3641ffe66c77d42403"),
        ("3.0.2", "822c03f4b799204250a7ee84b1eddc40665395333973dfb9deebfe425fefcb7d"),
        ("3.0.3", "ceb27b0af3823ea2737928a4d99d125a06175b8512c445cbd9a9ce200ef76842"),
        ("3.1.0", "5f873c5184c897c8d9d1b05df1e3d01b14910ce69607a117bd3277098a5836ac"),
        ("3.1.1", "284c7b8f2f58cb737f0cf1c30fd7eaf0ccfcde196099d24ecede3fc2005aa59e"),
        ("3.1.2", "bf656c15c80190ed628ad08cdfd3aaa35beb087855e2f494910aa3774cc4fd87"),
    ),
}
"""Consecutive sdists of one project, the oldest first."""


def releases(name: str, place: Path, home: Path = HOME) -> Path:
    """A repository with one commit for each of a project's releases.

    Args:
        name: a key of `RELEASES`.
        place: the repository; must not exist.
        home: where archives and trees are kept.

    Raises:
        CorpusError: a release is not there and cannot be fetched.
    """
    place.mkdir(parents=True)
    base = CORPORA[name]
    for version, digest in RELEASES[name]:
        tree = _unpacked(replace(base, version=version, sha256=digest), home)
        for old in place.iterdir():
            if old.name != ".git":
                shutil.rmtree(old) if old.is_dir() else old.unlink()
        shutil.copytree(tree, place, dirs_exist_ok=True, symlinks=True)
        commit(place)
    return place


def source(name: str, home: Path = HOME) -> Path:
    """The unpacked sdist of a corpus, fetched when it is not there yet.

    Args:
        name: a key of `CORPORA`.
        home: where archives and trees are kept.

    Raises:
        CorpusError: it is not there and cannot be fetched.
    """
    return _unpacked(CORPORA[name], home)


def _unpacked(corpus: Corpus, home: Path) -> Path:
    tree = home / f"{corpus.name}-{corpus.version}"
    if not tree.is_dir():
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home, prefix="fetching-") as place:
            archive = download(corpus, Path(place))
            unpack(archive, corpus.sha256, tree)
    return tree


def download(corpus: Corpus, place: Path) -> Path:
    """Fetch the archive through pip, which checks the hash.

    pip insists on an sdist's metadata, so it builds it: in an isolated environment,
    or, if that fails, with what is installed here. Only this package is taken as
    source; what builds it may come as wheels.

    Raises:
        CorpusError: pip failed; the message ends with what it said.
    """
    wanted = place / "requirements.txt"
    wanted.write_text(f"{corpus.name}=={corpus.version} --hash=sha256:{corpus.sha256}\n")
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
        *("--no-input", "--no-deps", "--no-binary", corpus.name, "--require-hashes"),
        *("--requirement", str(wanted), "--dest", str(place)),
    ]
    said = ""
    for more in ([], ["--no-build-isolation"]):
        said = _run([*command, *more])
        for archive in place.glob("*.tar.gz"):
            return archive
    raise CorpusError(f"{corpus.name} {corpus.version} cannot be fetched: {said}")


def unpack(archive: Path, digest: str, tree: Path) -> None:
    """Unpack a verified archive, whole or not at all.

    Args:
        archive: a .tar.gz with one directory at its top.
        digest: the SHA-256 it must have.
        tree: what that directory becomes; must not exist.

    Raises:
        CorpusError: the digest differs, or the archive is not an sdist.
    """
    found = sha256(archive.read_bytes()).hexdigest()
    if found != digest:
        raise CorpusError(f"{archive.name}: its SHA-256 is {found}, not {digest}")
    with tempfile.TemporaryDirectory(dir=tree.parent, prefix="unpacking-") as place:
        with tarfile.open(archive) as tar:
            tar.extractall(place, filter="data")
        tops = list(Path(place).iterdir())
        if len(tops) != 1 or not tops[0].is_dir():
            raise CorpusError(f"{archive.name}: not one directory at its top")
        os.replace(tops[0], tree)


def working_copy(tree: Path, place: Path, files: dict[str, str]) -> Path:
    """A copy of a tree as a git repository with one commit.

    Args:
        tree: what to copy.
        place: the copy; must not exist.
        files: text of files to add to it, by relative path.
    """
    shutil.copytree(tree, place, symlinks=True)
    for path, text in files.items():
        (place / path).write_text(text)
    commit(place)
    return place


def commit(place: Path) -> None:
    """Make a directory a git repository and commit everything in it."""
    identity = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@example.invalid")
    for command in (
        ("init", "--quiet"),
        ("add", "--all", "--force"),
        (*identity, "-c", "commit.gpgsign=false", "commit", "--quiet", "--message", "all"),
    ):
        subprocess.run(["git", *command], cwd=place, check=True, stdin=subprocess.DEVNULL)


def _run(command: Sequence[str]) -> str:
    """Run it and return the end of what it said, for an error message."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=TIMEOUT,
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {TIMEOUT:g} s"
    return done.stderr.strip()[-500:]
