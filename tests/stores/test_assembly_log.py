"""The log of builds: lines that are whole or not there, parts that are shared, both bounded."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest

from ctxbuild.errors import UsageError
from ctxbuild.stores.assembly_log import AssemblyLog


@pytest.fixture
def log(tmp_path):
    return AssemblyLog(tmp_path)


def add(log, target="app", inputs="same", extra=b""):
    """A build whose record is one part."""
    record = log.put(f"record of {inputs}".encode() + extra)
    digest = sha256(inputs.encode()).hexdigest()
    files = [(f"{target}.md", "00")]
    return log.append(target, f"sha256:{digest}", (record, digest), record, files, {"tokens": 9}, 7)


def names(log):
    return [build.build for build in log.read().builds]


def test_builds_are_named_by_their_inputs_and_numbered(log):
    assert log.last() is None
    first, second, third = add(log), add(log, inputs="other"), add(log)
    assert [first.number, second.number, third.number] == [1, 2, 3]
    assert first.build.partition("-")[0] == third.build.partition("-")[0]
    assert first.build.partition("-")[0] != second.build.partition("-")[0]
    assert names(log) == [first.build, second.build, third.build]
    assert log.last() == third
    assert log.read().builds[0] == first


def test_a_line_is_json_of_one_version(log):
    add(log)
    (row,) = log.path.read_text().splitlines()
    assert (json.loads(row)["v"], json.loads(row)["kind"]) == (1, "build")


@pytest.mark.parametrize(
    "damage",
    [b'{"v":1,"kind":"build","bui', b"\xff\xfe garbage\n", b"[]\n", b"null\n", b'{"v":1}\n',
     b'{"v":1,"kind":"mark","build":"x","mark":"odd","note":"","at":1}\n', b"[" * 5000],
)  # fmt: skip
def test_a_damaged_line_is_passed_over_and_swallows_none_behind_it(log, damage):
    first = add(log)
    with log.path.open("ab") as file:
        file.write(damage)
    second = add(log, inputs="later")
    story = log.read()
    assert story.builds == (first, second)
    assert (story.damaged, story.foreign, second.number) == (1, 0, 2)


def test_lines_of_another_version_are_counted_and_left_alone(log):
    add(log)
    with log.path.open("ab") as file:
        file.write(b'{"v":2,"kind":"build","new":true}\n')
    add(log)
    assert (log.read().foreign, len(log.read().builds)) == (1, 2)
    assert b'"v":2' in log.path.read_bytes()


def test_marks_belong_to_builds(log):
    build = add(log)
    log.mark(build.build, "retry", "forgot a file", 8)
    log.mark(build.build, "success", "", 9)
    story = log.read()
    assert [(each.mark, each.note) for each in story.marks(build.build)] == [
        ("retry", "forgot a file"),
        ("success", ""),
    ]
    assert story.marks("other") == ()


def test_a_build_is_found_by_name_number_digits_or_target(log):
    first, second = add(log), add(log, "docs", "other")
    for named in (first.build, "1", first.build[:8], first.build[:4], "app", f" {first.build} "):
        assert log.find(named) == first
    assert log.find("docs") == second
    assert log.find(first.build.upper()) == first


def test_the_same_inputs_built_twice_mean_the_last_build(log):
    add(log)
    again = add(log)
    assert log.find(again.build[:8]) == again


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("ap", "no build 'ap' is logged: did you mean"),
        ("zzzzzzzz", "no build 'zzzzzzzz' is logged: the last ones are "),
        ("", "no build '' is logged: the last ones are "),
    ],
)
def test_who_names_no_build_is_told_what_is_near(log, named, message):
    add(log)
    with pytest.raises(UsageError) as caught:
        log.find(named)
    assert str(caught.value).startswith(message)


def test_without_builds_that_is_said(log):
    with pytest.raises(UsageError, match="`ctxbuild build` logs what it builds"):
        log.find("1234")
    assert log.read().lines == ()


def test_the_oldest_go_when_there_are_too_many_and_their_marks_and_parts_with_them(tmp_path):
    log = AssemblyLog(tmp_path, most_builds=10)
    first = add(log, inputs="0")
    log.mark(first.build, "success", "", 1)
    builds = [add(log, inputs=str(number)) for number in range(1, 11)]
    last = builds[-1]
    log.mark(last.build, "failure", "", 2)
    story = log.read()
    assert [build.build for build in story.builds] == [each.build for each in builds[-8:]]
    assert story.marks(first.build) == ()
    assert len(story.marks(last.build)) == 1
    with pytest.raises(UsageError, match="is gone or damaged"):
        log.get(first.record)
    assert log.get(last.record) == b"record of 10"
    assert add(log, inputs="11").number == 12


def test_the_bytes_of_their_parts_are_bounded_and_the_last_build_stays(tmp_path):
    log = AssemblyLog(tmp_path, most_bytes=20_000)
    for number in range(9):
        noise = b"".join(sha256(b"%d %d" % (number, at)).digest() for at in range(100))
        add(log, inputs=str(number), extra=noise)
        assert log.volume() <= 20_000
    assert [build.number for build in log.read().builds][-1] == 9
    assert 3 <= len(log.read().builds) < 9
    big = b"".join(sha256(b"big %d" % at).digest() for at in range(1000))
    last = add(log, inputs="big", extra=big)
    assert names(log) == [last.build]


def test_a_part_that_two_builds_share_is_kept_as_long_as_one_of_them(tmp_path):
    log = AssemblyLog(tmp_path, most_builds=3)
    shared = add(log, inputs="shared")
    for number in range(2):
        add(log, inputs=str(number))
    again = add(log, inputs="shared")
    assert shared.record == again.record
    assert again.parts == 0
    assert log.get(shared.record) == b"record of shared"


def test_what_no_build_reaches_is_swept(log):
    add(log)
    stray = log.put(b"left by a build that was killed")
    assert log.sweep()[0] == 1
    with pytest.raises(UsageError):
        log.get(stray)
    assert log.get(log.read().builds[0].record)


def test_a_damaged_part_counts_as_gone(log):
    build = add(log)
    path = log.path.parent / "blobs" / build.record[:2] / build.record[2:]
    path.write_bytes(b"nonsense")
    with pytest.raises(UsageError, match="is gone or damaged"):
        log.get(build.record)
