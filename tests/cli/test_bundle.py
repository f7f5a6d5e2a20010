"""`ctxbuild bundle` and `build --from`: one reproducible archive that a later build starts from."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import tarfile

import pytest


def members(path):
    """Name to bytes of everything in an archive, in its order."""
    with tarfile.open(path) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}


def rewritten(path, change, to):
    """The archive with `change` applied to its members, written by another hand."""
    found = change(members(path))
    with tarfile.open(to, "w:gz") as tar:
        for name, data in found.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return str(to)


@pytest.fixture
def bundle(shop, tmp_path):
    path = tmp_path / "first.ctxbundle"
    assert shop("bundle", "-o", str(path)).code == 0
    return path


def test_a_bundle_holds_packs_plans_and_a_manifest(shop, bundle):
    found = members(bundle)
    assert list(found) == [
        "manifest.json",
        "packs/app.md",
        "packs/app.pack.json",
        "packs/app.plan.json",
        "packs/notes.md",
        "packs/notes.pack.json",
        "packs/notes.plan.json",
    ]
    manifest = json.loads(found["manifest.json"])
    assert manifest["schema"] == "ctxbuild.bundle/1"
    assert [target["name"] for target in manifest["targets"]] == ["app", "notes"]
    assert manifest["targets"][0]["digest"] == json.loads(found["packs/app.pack.json"])["digest"]
    assert manifest["revision"] is None  # it is in no repository
    shop("build")
    packs = shop.root / ".ctxbuild/packs"
    assert {f"packs/{p.name}": p.read_bytes() for p in packs.iterdir()} == {
        name: data for name, data in found.items() if name != "manifest.json"
    }


def test_the_same_sources_give_the_same_bytes_anywhere_and_any_time(shop, bundle, tmp_path):
    again, elsewhere = tmp_path / "again", tmp_path / "elsewhere"
    shop("bundle", "-o", str(again))
    shutil.copytree(shop.root, tmp_path / "copy", ignore=shutil.ignore_patterns(".ctxbuild"))
    assert shop("-C", str(tmp_path / "copy"), "bundle", "-o", str(elsewhere)).code == 0
    assert bundle.read_bytes() == again.read_bytes() == elsewhere.read_bytes()


def test_a_bundle_is_verified(shop, bundle):
    outcome = shop("bundle", "--verify", str(bundle))
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines()[0].endswith("first.ctxbundle: 6 files, ctxbuild 0.1.0")
    data = shop("bundle", "--verify", str(bundle), "--json").data
    assert data["manifest_digest"] in outcome.out


def altered(name):
    return lambda found: {**found, name: found[name].replace(b"o", b"0", 1)}


def without(name):
    return lambda found: {key: data for key, data in found.items() if key != name}


def with_more(name):
    return lambda found: {**found, name: b"x"}


def manifest_with(old, new):
    return lambda found: {**found, "manifest.json": found["manifest.json"].replace(old, new)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (altered("packs/app.md"), "packs/app.md: is not what the manifest says"),
        (altered("packs/app.plan.json"), "packs/app.plan.json: is not what the manifest says"),
        (without("packs/notes.md"), "packs/notes.md: is missing"),
        (with_more("packs/more.md"), "'packs/more.md': is not in the manifest"),
        (with_more("../evil"), "'../evil': is not in the manifest"),
        (manifest_with(b"packs/app.md", b"../../app.md"), "is no name for a file in it"),
        (manifest_with(b'"digest": "sha256:', b'"digest": "sha256:0'), "has another digest"),
        (manifest_with(b'"files"', b'"flies"'), "manifest.json: is damaged"),
    ],
)
def test_tampering_is_found_and_the_file_is_named(shop, bundle, tmp_path, change, message):
    path = rewritten(bundle, change, tmp_path / "tampered")
    for arguments in (("bundle", "--verify", path), ("build", "--from", path)):
        outcome = shop(*arguments)
        assert (outcome.code, outcome.out) == (1, "")
        assert message in outcome.err
    assert not (tmp_path / "evil").exists()


def test_a_link_in_a_bundle_is_not_followed(shop, bundle, tmp_path):
    path = tmp_path / "linked"
    with tarfile.open(path, "w:gz") as tar:
        for name, data in members(bundle).items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            if name == "packs/app.md":
                info.type, info.linkname, info.size = tarfile.SYMTYPE, "/etc/passwd", 0
            tar.addfile(info, io.BytesIO(data))
    outcome = shop("bundle", "--verify", str(path))
    assert outcome.code == 1
    assert "'packs/app.md': is not in the manifest" in outcome.err


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (lambda data: data[: len(data) // 2], 1, "is damaged"),
        (lambda data: data[:-8] + bytes(8), 1, "is damaged"),
        (lambda _: b"no archive", 2, "is no archive of ctxbuild"),
        (lambda _: gzip.compress(b"no tar"), 1, "is damaged"),
        (lambda _: b"", 2, "is no archive of ctxbuild"),
    ],
)
def test_what_is_no_whole_archive_is_refused(shop, bundle, change, code, message):
    bundle.write_bytes(change(bundle.read_bytes()))
    outcome = shop("bundle", "--verify", str(bundle))
    assert (outcome.code, outcome.out) == (code, "")
    assert message in outcome.err


def test_a_bundle_of_a_newer_version_asks_for_an_upgrade(shop, bundle, tmp_path):
    newer = manifest_with(b"ctxbuild.bundle/1", b"ctxbuild.bundle/2")
    path = rewritten(bundle, newer, tmp_path / "newer")
    outcome = shop("bundle", "--verify", path)
    assert outcome.code == 2
    assert outcome.err == (
        f"ctxbuild: {path}: is a bundle of version 2, this ctxbuild reads up to 1: "
        "upgrade ctxbuild, or make it with this version\n"
    )


# --- starting from one --------------------------------------------------------------------


@pytest.fixture
def clone(shop, bundle, tmp_path):
    """The same sources elsewhere, never built."""
    root = tmp_path / "clone"
    shutil.copytree(shop.root, root, ignore=shutil.ignore_patterns(".ctxbuild"))

    def run(*arguments):
        return shop("-C", str(root), *arguments)

    run.root = root
    return run


def test_a_build_from_a_bundle_of_the_same_sources_runs_nothing(clone, bundle):
    data = clone("build", "--from", str(bundle), "--json").data
    assert data["ran"] == []
    assert [(t["name"], t["status"], len(t["written"])) for t in data["targets"]] == [
        ("app", "fresh", 3),
        ("notes", "fresh", 3),
    ]
    packs = clone.root / ".ctxbuild/packs"
    assert {f"packs/{p.name}": p.read_bytes() for p in packs.iterdir()} == {
        name: data for name, data in members(bundle).items() if name != "manifest.json"
    }
    again = clone("build", "--from", str(bundle), "--json").data
    assert [(t["status"], t["written"]) for t in again["targets"]] == [("fresh", [])] * 2


@pytest.mark.parametrize(
    ("path", "old", "new", "built"),
    [
        ("README.md", "It sells.", "It buys.", ["notes"]),
        ("shop/cart.py", "name: str", "name: bytes", ["app"]),
        ("shop/unused.py", "return 1", "return 2", []),
        ("ctxfile.toml", "budget = 100\n", "budget = 90\n", ["notes"]),
        ("ctxfile.toml", "version = 1\n", 'version = 1\n[project]\nexclude = ["x"]\n', []),
    ],
)
def test_only_what_rests_on_other_inputs_is_built(clone, bundle, path, old, new, built):
    text = (clone.root / path).read_text()
    assert old in text
    (clone.root / path).write_text(text.replace(old, new))
    targets = clone("build", "--from", str(bundle), "--json").data["targets"]
    assert [target["name"] for target in targets if target["status"] == "built"] == built
    outputs = {p.name: p.read_bytes() for p in (clone.root / ".ctxbuild/packs").iterdir()}
    shutil.rmtree(clone.root / ".ctxbuild")
    clone("build")
    assert outputs == {p.name: p.read_bytes() for p in (clone.root / ".ctxbuild/packs").iterdir()}


def test_a_file_that_would_shadow_another_counts(clone, bundle):
    (clone.root / "shop/cart").mkdir()
    (clone.root / "shop/cart/__init__.py").write_text("class Cart: ...\n")
    targets = clone("build", "--from", str(bundle), "--json").data["targets"]
    assert [target["status"] for target in targets] == ["built", "fresh"]


def test_a_bundle_may_hold_some_targets_only(clone, tmp_path):
    path = str(tmp_path / "notes.ctxbundle")
    assert clone("bundle", "notes", "-o", path).code == 0
    shutil.rmtree(clone.root / ".ctxbuild")
    targets = clone("build", "--from", path, "--json").data["targets"]
    assert [(each["name"], each["status"]) for each in targets] == [
        ("app", "built"),
        ("notes", "fresh"),
    ]


def test_the_commit_is_in_the_manifest(clone, tmp_path):
    import subprocess

    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run(["git", "-C", str(clone.root), *arguments], check=True)
    path = str(tmp_path / "commit.ctxbundle")
    revision = clone("bundle", "-o", path, "--json").data["revision"]
    assert revision["clean"] is True
    assert len(revision["commit"]) == 40
    (clone.root / "README.md").write_text("changed\n")
    revision = clone("bundle", "-o", path, "--json").data["revision"]
    assert revision["clean"] is False


def test_a_target_that_cannot_be_built_gives_no_bundle(shop, tmp_path):
    (shop.root / "shop/app.py").unlink()
    path = tmp_path / "none.ctxbundle"
    assert shop("bundle", "-o", str(path)).code == 2
    assert not path.exists()
    assert list(tmp_path.glob(".*.tmp")) == []


# --- caches -------------------------------------------------------------------------------


def test_an_imported_cache_makes_a_first_build_run_nothing(shop, clone, tmp_path):
    path = str(tmp_path / "cache.tgz")
    shop("build")
    assert "exported to" in shop("cache", "export", path).out
    assert "imported from" in clone("cache", "import", path).out
    data = clone("build", "--json").data
    assert data["ran"] == []
    assert all(len(target["written"]) == 3 for target in data["targets"])


def test_the_packs_that_a_delta_can_begin_from_come_along(shop, clone, tmp_path):
    path, cart = str(tmp_path / "cache.tgz"), clone.root / "shop/cart.py"
    shop("build")
    since = json.loads((shop.root / ".ctxbuild/packs/app.pack.json").read_text())["digest"]
    cart.write_text(cart.read_text().replace("What all of it costs", "What it costs"))
    clone("build")
    assert "is kept" in clone("delta", "app", "--since", since).err
    both = kept(shop) | kept(clone)
    shop("cache", "export", path)
    clone("cache", "import", path)
    assert kept(clone) == both
    assert "What it costs" in clone("delta", "app", "--since", since).out


def kept(project):
    """When each pack of the history was last built; what both have is the clone's."""
    files = (project.root / ".ctxbuild/history").glob("*/*")
    return {file.name: file.stat().st_mtime_ns for file in files}


def test_a_cache_is_imported_whole_or_not_at_all(shop, clone, tmp_path):
    path = tmp_path / "cache.tgz"
    shop("build")
    shop("cache", "export", str(path))
    clone("build")
    before = clone("build", "--json").data["targets"]
    change = altered("state.db")
    outcome = clone("cache", "import", rewritten(path, change, tmp_path / "tampered"))
    assert outcome.code == 1
    assert "state.db: is not what the manifest says" in outcome.err
    bundle = str(tmp_path / "b")
    shop("bundle", "-o", bundle)
    outcome = clone("cache", "import", bundle)
    assert (outcome.code, "is a bundle, not a cache" in outcome.err) == (2, True)
    assert clone("build", "--json").data["targets"] == before
    assert [p.name for p in (clone.root / ".ctxbuild").glob("import-*")] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("export",), "cache export: takes a file"),
        (("info", "x"), "cache info: takes no file"),
        (("export", "x.tgz"), "no cache yet: run `ctxbuild build` first"),
        (("import", "x.tgz"), "x.tgz: cannot be read"),
    ],
)
def test_a_wrong_request_to_the_cache_is_refused(shop, arguments, message):
    outcome = shop("cache", *arguments)
    assert outcome.code == 2
    assert message in outcome.err
