"""What is built is logged, and planned again from the log alone, byte for byte."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys

import pytest

from ctxbuild.cli.main import main
from ctxbuild.errors import CtxbuildError, UsageError
from ctxbuild.serve import journal
from ctxbuild.serve.replaying import replay
from ctxbuild.source import ctxfile
from ctxbuild.stores.assembly_log import AssemblyLog

CTXFILE = """\
version = 1
[targets.app]
entry = ["shop/app.py"]
budget = 400
[targets.mixed]
budget = 2400
headers = "full"
formats = ["md", "xml", "json"]
[[targets.mixed.layers]]
name = "rules"
files = ["RULES.md"]
budget = 120
pin = true
[[targets.mixed.layers]]
name = "code"
entry = ["shop/app.py", "shop/disk.py"]
budget = 420
dependents = 2
[[targets.mixed.layers]]
name = "notes"
memory = "NOTES.md"
budget = 1700
[targets.session]
budget = 900
[[targets.session.layers]]
name = "talk"
transcript = "talk.jsonl"
budget = 600
threshold = 300
recent = 2
[[targets.session.layers]]
name = "files"
files = ["shop/*.py"]
budget = 300
position = "prefix"
[targets.scored]
files = ["shop/**", "RULES.md"]
budget = 260
layout = "score"
"""


@pytest.fixture
def project(shop):
    shop.put("ctxfile.toml", CTXFILE)
    shop.put("RULES.md", "# Rules\n\nNever guess.\n")
    shop.put("NOTES.md", "# Notes\n\n- shop/disk.py: found put() loses keys; severity high\n")
    shop.put("talk.jsonl", said("user", "Review the shop."))
    return shop


def said(role, text):
    return json.dumps({"role": role, "content": text}) + "\n"


def load(project):
    return ctxfile.load(project.root / "ctxfile.toml")


def log_of(project):
    return AssemblyLog(project.root / ".ctxbuild")


def builds(project):
    return log_of(project).read().builds


def edit(project, dice, number):
    """One of the things that happen to a project."""
    name = dice.choice("abcdefgh")
    body = "".join(f"    total += {row}\n" for row in range(dice.randrange(1, 9)))
    changes = [
        lambda: project.put(
            f"shop/{name}.py",
            f"def {name}(x: int) -> int:\n    total = x\n{body}    return total\n",
        ),
        lambda: project.put(
            "shop/app.py",
            f"# {number}\nfrom shop.store import Store\n\n\ndef main("
            f"path: str, n{number}: int) -> int:\n{body.replace('total +=', 'x =')}"
            "    store = Store(path)\n    return store.size\n",
        ),
        lambda: project.put(
            "shop/store.py",
            (project.root / "shop/store.py").read_text()
            + f"\n\ndef added_{number}() -> int:\n    return {number}\n",
        ),
        lambda: project.put("RULES.md", f"# Rules\n\nNever guess {number}.\n"),
    ]
    dice.choice(changes)()
    talk = (project.root / "talk.jsonl").read_text()
    words = " ".join(f"word{number}x{at}" for at in range(dice.randrange(5, 60)))
    project.put("talk.jsonl", talk + said("assistant", words) + said("user", f"go on {number}"))
    notes = (project.root / "NOTES.md").read_text()
    project.put("NOTES.md", f"{notes}- shop/{name}.py: found n{number % 3}; severity low\n")
    if not number % 5:
        # Code that only moves writes another artifact and runs no plan.
        project.put("shop/disk.py", "\n" + (project.root / "shop/disk.py").read_text())


def test_a_hundred_recorded_builds_are_planned_again_byte_for_byte_without_the_tree(project):
    dice = random.Random(7)
    number = 0
    while len(builds(project)) < 100:
        number += 1
        edit(project, dice, number)
        assert not project.build().failed
    written = project.outputs()
    for path in list(project.root.iterdir()):
        if path.name not in {"ctxfile.toml", ".ctxbuild"}:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    logged = builds(project)
    assert {build.target for build in logged} == {"app", "mixed", "session", "scored"}
    project_ctxfile = load(project)
    for build in logged:
        again = replay(project_ctxfile, build.build)
        assert again.identical, (build.build, again.differing)
        assert again.again.pack.digest == build.digest
        metrics = build.metrics
        assert (metrics["pins_lost"], metrics["findings_lost"]) == (0, 0)
        assert metrics["tokens"] == again.again.pack.tokens <= metrics["budget"]
        assert metrics["blocks"] == len(again.again.pack.blocks)
        if build.target != "mixed":  # full headers are priced at their longest
            assert abs(metrics["estimated"] - metrics["tokens"]) <= 0.02 * metrics["tokens"] + 4
    for target in ("app", "mixed", "session", "scored"):
        files = replay(project_ctxfile, target).again.files
        assert files == {name: written[name] for name in files}
    # What did not change is stored once.
    whole = sum(len(data) for data in written.values())
    assert log_of(project).volume() < 100 * whole / 4


KINDS = """\
version = 1
[targets.review]
preset = "review"
diff = "HEAD"
transcript = "talk.jsonl"
memory = "NOTES.md"
files = ["shop/**"]
[[targets.review.layers]]
name = "task"
files = ["RULES.md"]
restate = 1
[targets.asked]
question = "How does the store save a value on disk?"
budget = 600
[targets.packet]
docs = ["RULES.md"]
budget = 400
[targets.tests]
entry = ["shop/store.py::Store.save"]
budget = 900
dependents = 2
tests = true
bodies = true
[targets.like]
entry = ["shop/app.py"]
budget = 500
prefer = "before.pack.json"
"""


def test_every_kind_of_layer_is_planned_again_byte_for_byte(project):
    """Restated, hydrated, searched, compiled, compared and laid out like another pack."""
    project.put("ctxfile.toml", KINDS)
    for command in (["init", "-q"], ["add", "shop"], ["commit", "-qm", "one"]):
        subprocess.run(["git", *command], cwd=project.root, check=True)
    project.replace("shop/store.py", "self.disk.put(key, value)", "self.disk.put(key, value or 0)")
    project.put("tests/test_shop.py", "from shop.store import Store\n\n\ndef test_it():\n"
                "    Store('x').save('a', 1)\n")  # fmt: skip
    talk = (project.root / "talk.jsonl").read_text()
    project.put("talk.jsonl", talk + said("assistant", "I need to modify `Disk.put` now."))
    project.put("before.pack.json", json.dumps({"schema": "ctxbuild.pack/1", "blocks": []}))
    result = project.build()
    assert not result.failed, [each.error for each in result.targets]
    shutil.rmtree(project.root / "shop")
    shutil.rmtree(project.root / ".git")
    for build in builds(project):
        assert replay(load(project), build.build).identical, build.target
    pack = replay(load(project), "review").again.pack
    assert pack.blocks[-1].unit == "RULES.md#restated"
    assert [build.metrics["retrieval"] for build in builds(project)][:2] == [0.0, 1.0]
    without = replay(load(project), "review", settings=["task.budget=400"])
    assert without.changed.pack.text == pack.text


def test_a_fresh_build_and_a_dry_one_log_nothing(project):
    project.session().build(dry=True)
    assert builds(project) == ()
    project.build()
    logged = builds(project)
    assert [build.target for build in logged] == ["app", "mixed", "session", "scored"]
    project.build()
    project.session().artifact("app")
    project.session().build(dry=True)
    assert builds(project) == logged


def test_a_build_logs_the_targets_that_it_made_anew(project):
    project.build()
    project.put("RULES.md", "# Rules\n\nNever, ever guess.\n")
    project.build()
    assert [build.target for build in builds(project)][4:] == ["mixed", "scored"]
    project.put("RULES.md", "# Rules\n\nNever guess.\n")
    project.build()
    back = builds(project)[6:]
    assert [build.target for build in back] == ["mixed", "scored"]
    # Equal inputs have equal names but for the number.
    assert back[0].build.partition("-")[0] == builds(project)[1].build.partition("-")[0]


def test_what_is_only_looked_at_is_logged_too(project):
    project.session().artifact("app")
    assert [build.target for build in builds(project)] == ["app"]
    project.build("app")
    assert [build.target for build in builds(project)] == ["app"]


def test_code_that_moves_is_another_artifact_of_the_same_inputs(project):
    project.build("app")
    project.put("shop/disk.py", "\n\n" + (project.root / "shop/disk.py").read_text())
    assert project.ran("app") == ["facts(shop/disk.py)"]
    first, second = builds(project)
    assert first.inputs == second.inputs
    assert dict(first.files) != dict(second.files)
    assert replay(load(project), second.build).identical
    assert replay(load(project), first.build).identical


def test_a_null_build_imports_nothing_of_the_log(project):
    project.build()
    program = (
        "import sys; from ctxbuild.cli.main import main; "
        f"main(['-C', {str(project.root)!r}, 'build', '-q', '--no-daemon']); "
        "print([m for m in sys.modules if m.endswith(('assembly_log', 'journal', 'record'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_log_that_cannot_be_written_costs_a_warning(project):
    (project.root / ".ctxbuild").mkdir()
    session = project.session()
    (project.root / ".ctxbuild" / "log").write_text("in the way")
    result = session.build(["app"])
    assert not result.failed
    assert any("log" in line and "cannot be written" in line for line in result.warnings)
    assert (project.root / ".ctxbuild" / "packs" / "app.md").exists()


def test_a_build_killed_before_it_was_committed_is_logged_again_and_nothing_is_torn(project):
    """What the log holds may be more than the state knows of; never less than a line."""
    project.build("app")
    shutil.copytree(project.root / ".ctxbuild" / "log", project.root / "kept")
    (project.root / ".ctxbuild" / "state.db").unlink()
    project.build("app")
    first, second = builds(project)
    assert (first.inputs, first.files) == (second.inputs, second.files)


def test_garbage_collection_keeps_what_logged_builds_reach(project):
    from ctxbuild.serve.maintenance import collect

    project.build()
    stray = log_of(project).put(b"nobody names it")
    collect(project.session())
    for build in builds(project):
        assert replay(load(project), build.build).identical
    with pytest.raises(UsageError):
        log_of(project).get(stray)


def test_cleaning_outputs_keeps_the_log_and_cleaning_everything_drops_it(project):
    from ctxbuild.serve.cleaning import clean

    project.build()
    clean(load(project))
    assert len(builds(project)) == 4
    clean(load(project), everything=True)
    assert not (project.root / ".ctxbuild" / "log").exists()


# --- one thing changed --------------------------------------------------------------------


def run(project, capsysbinary, *arguments):
    code = main(["-C", str(project.root), *arguments])
    out, err = capsysbinary.readouterr()
    return code, out.decode(), err.decode()


def test_a_swap_of_one_layer_shows_blocks_tokens_and_order(project, capsysbinary):
    project.build("mixed")
    (build,) = builds(project)
    shutil.rmtree(project.root / "shop")
    project.put("other.md", "# Other rules\n\nAsk first.\n")
    code, out, err = run(project, capsysbinary, "replay", "mixed", "--swap", "rules=other.md")
    assert (code, err) == (0, "")
    tokens = build.metrics["tokens"]
    blocks = build.metrics["blocks"]
    assert out == (
        f"mixed {build.build}: {tokens} tokens, {blocks} blocks, 5 files byte for byte as built\n"
        f"mixed: {tokens} -> {tokens + 1} tokens (+1), 2 blocks differ (1 added, 1 removed), "
        f"{blocks - 1} alike\n"
        "- RULES.md: removed as full, -6 tokens\n"
        "+ other.md: added as full, +7 tokens\n"
    )


def test_a_variable_set_shows_what_it_does(project, capsysbinary):
    project.build("mixed", "scored")
    before = [b.unit for b in replay(load(project), "mixed").again.pack.blocks]
    order = "layers=code,notes,rules"
    code, out, _ = run(project, capsysbinary, "replay", "mixed", "--set", order, "--json")
    found = json.loads(out)
    assert (code, found["identical"]) == (0, True)
    assert (found["order_before"], found["order"]) == (before, [*before[1:], before[0]])
    changes = [(each["kind"], each["unit"]) for each in found["difference"]["changes"]]
    assert changes == [("moved", "RULES.md")]
    code, out, _ = run(project, capsysbinary, "replay", "scored", "--set", "cap=100")
    assert code == 0
    assert " tokens (-" in out


@pytest.mark.parametrize(
    ("setting", "target", "says"),
    [
        ("reserve=2100", "mixed", lambda p: p.tokens <= 300 and p.reserve == 2100),
        ("headers=lean", "mixed", lambda p: "## 1. " not in p.text),
        ("formats=xml", "mixed", lambda p: p.text.startswith("<pack")),
        ("code.budget=60", "mixed", lambda p: sum(b.layer == "code" for b in p.blocks) < 4),
        ("code.form=name", "mixed", lambda p: {b.form for b in p.blocks if b.layer == "code"}
         <= {"name"}),
        ("layers=notes,code,rules", "mixed", lambda p: p.blocks[0].layer == "notes"),
        ("code.position=suffix", "mixed", lambda p: p.blocks[-1].layer == "code"),
        ("files.priority=9", "session", lambda p: p.tokens <= 900),
        ("files.pin=true", "scored", lambda p: False),
    ],
)  # fmt: skip
def test_every_variable_can_be_set(project, setting, target, says):
    project.build(target)
    if setting == "files.pin=true":
        with pytest.raises(CtxbuildError, match="what is pinned needs"):
            replay(load(project), target, settings=[setting])
        return
    found = replay(load(project), target, settings=[setting])
    assert found.identical
    assert found.changed is not None
    assert says(found.changed.pack), found.changed.pack.text


def test_a_layer_is_swapped_in_from_another_pack(project):
    project.build("mixed")
    old = project.root / "old.pack.json"
    shutil.copy(project.root / ".ctxbuild/packs/mixed.pack.json", old)
    project.put("RULES.md", "# Rules\n\nAlways guess.\n")
    project.build("mixed")
    found = replay(load(project), "mixed", [f"rules={old}"])
    assert found.identical
    assert "Never guess." in found.changed.pack.text
    assert "Always guess." not in found.changed.pack.text


def test_a_session_layer_is_swapped_as_prose(project, tmp_path):
    project.build("session")
    (tmp_path / "talk.md").write_text("The whole talk in one line.\n")
    found = replay(load(project), "session", ["talk=talk.md"], directory=str(tmp_path))
    assert "\nThe whole talk in one line.\n" in found.changed.pack.text
    assert "Review the shop." not in found.changed.pack.text


def test_the_result_is_printed_and_written_where_it_is_asked_for(project, capsysbinary):
    project.build("app")
    code, out, _ = run(project, capsysbinary, "replay", "app", "--text")
    assert (code, out) == (0, project.pack())
    code, _, err = run(project, capsysbinary, "replay", "app", "--out", "again")
    assert code == 0
    assert err == "wrote again/app.md\nwrote again/app.pack.json\nwrote again/app.plan.json\n"
    packs = project.root / ".ctxbuild" / "packs"
    for path in (project.root / "again").iterdir():
        assert path.read_bytes() == (packs / path.name).read_bytes()


# --- bad input ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("mixd",), "no build 'mixd' is logged: did you mean "),
        (("mixed", "--swap", "rulse=RULES.md"), "no layer 'rulse' was recorded: did you mean"),
        (("mixed", "--swap", "rules=none.md"), "--swap: none.md: cannot be read: No such file"),
        (("mixed", "--swap", "rules"), "--swap 'rules': is not LAYER=FILE"),
        (("mixed", "--swap", "rules=ctxfile.toml", "--set", "cap=9"), "one layer or one"),
        (("mixed", "--set", "bugdet=9"), "there is no variable 'bugdet': did you mean 'budget'?"),
        (("mixed", "--set", "budget=many"), "budget 'many': is no number of at least 1"),
        (("mixed", "--set", "reserve=2400"), "reserve 2400: a reserve of 2400 leaves"),
        (("mixed", "--set", "layout=scroe"), "layout 'scroe': there is no such choice:"),
        (("mixed", "--set", "code.colour=red"), "layers have no variable 'colour': there"),
        (("mixed", "--set", "cod.budget=9"), "no layer 'cod' was recorded: did you mean 'code'?"),
        (("mixed", "--set", "code.pin=maybe"), "code.pin 'maybe': is neither true nor false"),
        (("mixed", "--set", "layers=code"), "layers code: not the recorded ones in another order"),
        (("mixed", "--set", "budget=20"), "target 'mixed': what is pinned needs "),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_ends_with_2(project, capsysbinary, arguments, message):
    project.build("mixed")
    code, out, err = run(project, capsysbinary, "replay", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"ctxbuild: {message}")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda head: head.replace(b"ctxbuild.assembly/1", b"ctxbuild.assembly/9"),
         "the record has the schema 'ctxbuild.assembly/9', this ctxbuild reads"),
        (lambda head: head[: len(head) // 2], "the record is damaged: "),
        (lambda head: b"", "the record is damaged: "),
        (lambda head: head.replace(b"\xa9languages", b"\xa9langxages"),
         "the record was written by another version of ctxbuild"),
    ],
)  # fmt: skip
def test_a_record_of_another_version_or_a_damaged_one_is_one_line(
    project, capsysbinary, change, message
):
    project.build("app")
    log = log_of(project)
    (build,) = log.read().builds
    record = log.put(change(log.get(build.record)))
    row = log.path.read_text().replace(build.record, record)
    log.path.write_text(row)
    code, out, err = run(project, capsysbinary, "replay", "app")
    assert (code, out) == (2, "")
    assert err.startswith(f"ctxbuild: build {build.build}: {message}")
    assert err.count("\n") == 1


def test_a_record_whose_part_is_gone_is_one_line(project, capsysbinary):
    project.build("app")
    (build,) = builds(project)
    shutil.rmtree(log_of(project).path.parent / "blobs")
    code, _, err = run(project, capsysbinary, "replay", build.build)
    assert code == 2
    assert err.startswith(f"ctxbuild: build {build.build}: a part of the record is gone or damaged")


def test_a_pack_that_comes_out_otherwise_ends_with_1(project, capsysbinary):
    project.build("app")
    log = log_of(project)
    (build,) = log.read().builds
    log.path.write_text(log.path.read_text().replace(dict(build.files)["app.md"], "0" * 64))
    code, out, err = run(project, capsysbinary, "replay", "app")
    size = f"{build.metrics['tokens']} tokens, {build.metrics['blocks']} blocks"
    assert (code, out) == (1, f"app {build.build}: {size}, not as built: app.md\n")
    assert err.startswith("warning: it was built by another version")


# --- the log as a command -----------------------------------------------------------------


def test_the_log_lists_builds_and_shows_the_plan_of_one(project, capsysbinary):
    project.build("app", "mixed")
    first, second = builds(project)
    code, out, err = run(project, capsysbinary, "log", "--json")
    found = json.loads(out)["builds"]
    assert (code, err, [each["build"] for each in found]) == (0, "", [first.build, second.build])
    assert list(found[0]) == [
        *("build", "number", "at", "target", "digest", "inputs", "tokens", "estimated", "budget"),
        *("reserve", "blocks", "mean", "retrieval", "layers", "trimmed", "dropped", "pins"),
        *("findings", "pins_lost", "findings_lost", "marks"),
    ]
    _, out, _ = run(project, capsysbinary, "log", "app", "-n", "1")
    head, row = out.splitlines()
    assert head.split() == [
        *("build", "when", "target", "tokens", "estimated", "blocks", "mean", "retrieval", "lost"),
        "marks",
    ]
    assert row.startswith(f"{first.build}  ")
    _, out, _ = run(project, capsysbinary, "log", second.build)
    lines = out.splitlines()
    assert lines[0].startswith(f"{second.build}: mixed, ")
    assert lines[2] == "pins 1, lost 0; findings 1, lost 0"
    assert lines[4].split() == ["layer", "unit", "form", "tokens", "why"]
    assert any(line.split()[:3] == ["rules", "RULES.md", "full"] for line in lines)


def test_marks_and_their_distribution(project, capsysbinary):
    for number, marks in enumerate((["success"], ["retry"], ["success"], ["failure"], ["retry"])):
        project.put("RULES.md", f"# Rules\n\nRule {number}.\n")
        project.build("mixed")
        for mark in marks:
            done = run(project, capsysbinary, "log", "mark", "mixed", mark, "--note", "why  so")
            name = builds(project)[-1].build
            assert done == (0, f"{name} (mixed): marked {mark}\n", "")
    code, out, _ = run(project, capsysbinary, "log", "--stats", "--json")
    assert code == 0
    assert json.loads(out)["targets"] == [
        {
            "target": "mixed",
            "builds": 5,
            "marked": 5,
            "attempts": 3,
            "successes": 2,
            "failures": 1,
            "first_pass": 1,
            "retries": 2,
            "open": True,
            "critical": 10,
            "lost": 0,
            "first_pass_share": 0.3333,
            "failure_share": 0.3333,
            "retries_per_attempt": 0.6667,
            "drop_rate": 0.0,
        }
    ]
    _, out, _ = run(project, capsysbinary, "log", "--stats")
    assert out == (
        "target  builds  marked        attempts  first pass  retries  failures  dropped\n"
        "mixed        5       5  3 and one open        33 %        2      33 %      0 %\n"
    )
    assert [each.note for each in log_of(project).read().lines if hasattr(each, "note")] == [
        "why so"
    ] * 5


def test_a_log_without_builds_says_how_one_comes_about(project, capsysbinary):
    assert run(project, capsysbinary, "log") == (
        0,
        "",
        "nothing is logged yet: `ctxbuild build` logs what it builds\n",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("mark", "app", "sucess"), "there is no mark 'sucess': did you mean success?"),
        (("mark", "app"), "`log mark` takes a build and a mark"),
        (("mark", "nope", "success"), "no build 'nope' is logged"),
        (("ap",), "no build 'ap' is logged: did you mean"),
        (("app", "mixed"), "'app mixed': is too much"),
        (("-n", "0"), "-n 0: is no number of builds"),
        (("--note", "x"), "--note belongs to `log mark`"),
        (("ap", "--stats"), "--stats: no target 'ap'"),
    ],
)
def test_a_wrong_call_of_the_log_is_one_line(project, capsysbinary, arguments, message):
    project.build("app")
    code, out, err = run(project, capsysbinary, "log", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"ctxbuild: {message}")
    assert err.count("\n") == 1


def test_damaged_lines_are_told(project, capsysbinary):
    project.build("app")
    with log_of(project).path.open("ab") as file:
        file.write(b"{torn\n")
    code, out, err = run(project, capsysbinary, "log")
    assert (code, err) == (0, "warning: the log: 1 damaged lines are passed over\n")
    assert out.count("\n") == 2


def test_marks_are_given_by_code_too(project):
    project.build("app")
    build, mark = journal.mark(load(project), "app", "success", "at once")
    assert (build.target, mark) == ("app", "success")
