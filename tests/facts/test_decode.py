"""Bytes to text, whatever the bytes."""

import codecs

import pytest

from ctxbuild.facts.decode import decode
from ctxbuild.model import Problem


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"x = 1\n", "x = 1\n"),
        ("x = 'é'\n".encode(), "x = 'é'\n"),
        (codecs.BOM_UTF8 + "é".encode(), "é"),
        ("é\n".encode("utf-16"), "é\n"),
        (codecs.BOM_UTF16_BE + "é\n".encode("utf-16-be"), "é\n"),
        (b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", "# -*- coding: latin-1 -*-\nx = 'é'\n"),
        (
            b"#!/bin/sh\n# vim: set fileencoding=cp1252 :\n\x80",
            "#!/bin/sh\n# vim: set fileencoding=cp1252 :\n€",
        ),
        (b"a\r\nb\rc\n", "a\nb\nc\n"),
    ],
)
def test_well_encoded_bytes_become_text_with_line_feeds(data, text):
    assert decode(data) == (text, ())


@pytest.mark.parametrize(
    ("data", "text", "problem"),
    [
        (b"ok\n\xff\n", "ok\n\ufffd\n", "not valid utf-8: line 2"),
        (b"# coding: nosuch\n\xff", "# coding: nosuch\n\ufffd", "not valid utf-8: line 2"),
        (b"# coding: rot13\n\xff", "# coding: rot13\n\ufffd", "not valid utf-8: line 2"),
        (
            b"x\n# y\n# coding: latin-1\n\xe9",
            "x\n# y\n# coding: latin-1\n\ufffd",
            "not valid utf-8: line 4",
        ),
        (codecs.BOM_UTF16_LE + b"a\x00b", "a\ufffd", "not valid utf-16: line 1"),
    ],
)
def test_undecodable_bytes_are_replaced_and_reported(data, text, problem):
    assert decode(data) == (text, (Problem("encoding", problem),))


def test_nul_bytes_make_a_file_binary():
    assert decode(b"\x7fELF\0\0") == ("", (Problem("binary", "holds NUL bytes"),))


def test_no_codec_brings_a_surrogate_into_the_text():
    text, problems = decode(b"# coding: utf-7\n+2AA-\xff")
    assert text.encode()
    assert [problem.kind for problem in problems] == ["encoding"]
