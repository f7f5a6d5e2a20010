"""Rules in words to checks: what is found, and what is left alone."""

from __future__ import annotations

import pytest

from ctxbuild.compare.lint import Output, Rule, Source, run
from ctxbuild.compare.lint_derive import derive
from ctxbuild.compare.lint_outputs import language_by_name


def breaks(modality, rule, text, path="out.py", more=()):
    """What a rule finds in a text: (line, column, message)."""
    made = Rule("r", rule, modality, "error", Source("a.md"), derive(rule, modality))
    outputs = [Output(path, text, language_by_name(path)), *more]
    return [(d.line, d.column, d.message) for d in run("p", [made], outputs).diagnostics]


BROKEN = [
    ("MUST NOT", 'The name is spelled "Cargo", never "cargo".', "Use cargo.\n", "a.md"),
    ("MUST", "Use `httpx` instead of `requests`.", "import requests\n", "o.py"),
    ("MUST NOT", "Never use `eval`.", "x = eval(y)\n", "out.py"),
    ("MUST NOT", "You must not call `eval()` or `exec()`.", "exec (y)\n", "out.py"),
    ("MUST NOT", "`innerHTML` is forbidden.", "el.innerHTML = x\n", "a.js"),
    ("MUST NOT", "`pickle` and `marshal` must never be used.", "import marshal\n", "out.py"),
    ("MUST NOT", "Do not use `print`; use `logging` instead.", "print(1)\n", "out.py"),
    ("MUST", "Always use `logging` instead of `print`.", "print(1)\n", "out.py"),
    (
        "MUST NOT",
        "Do not import the `requests` library in Python code.",
        "import requests\n",
        "o.py",
    ),
    ("MUST NOT", "Never use `var` in JavaScript.", "var x = 1\n", "a.js"),
    ("MUST NOT", "Do not use `TODO` comments.", "x = 1  # TODO later\n", "o.py"),
    ("MUST NOT", "Do not use `SELECT *`.", 'q = "SELECT  * FROM t"\n', "o.py"),
    ("MUST NOT", 'The words "simply" and "just" must never be used.', "Simply put it.\n", "a.md"),
    ("MUST NOT", 'Do not use the word "suddenly".', "Suddenly it rained.\n", "a.md"),
    ("MUST", 'Write "Mr Hale", never "Mister Hale".', "Mister Hale came.\n", "a.md"),
    ("MUST NOT", "Never expose keys in client-side code", 'apiKey: "k3yk3yk3y9"\n', "a.js"),
    ("MUST NOT", "Never commit API keys to version control", 'API_KEY = "9f8e7d6c5b"\n', "a.py"),
    ("MUST NOT", "Passwords must not be hard-coded.", 'password = "hunter22"\n', "a.py"),
    ("MUST NOT", "Never put a key into a URL", 'get(f"/a?api_key={key}")\n', "a.py"),
    ("MUST NOT", "Do not log passwords or tokens.", "logger.info('in', token)\n", "a.py"),
    ("MUST", "All API requests must use HTTPS.", 'url = "http://api.shop.com/v2"\n', "a.py"),
    ("MUST NOT", "Lines must not exceed 20 characters.", "x" * 21 + "\n", "a.py"),
    ("MUST", "Lines must be at most 20 characters.", "x" * 21 + "\n", "a.py"),
    ("SHOULD", "Sentences should be under 5 words.", "One two three four five.\n", "a.md"),
    ("MUST", "The summary must be at most 3 words.", "# Summary\n\na b c d\n\n# B\n\na\n", "a.md"),
    ("MUST NOT", "Do not use emojis.", "Fine \N{GRINNING FACE}\n", "a.md"),
    ("MUST NOT", "Never use exclamation marks.", "Stop!\n", "a.md"),
    ("MUST NOT", "Never write in the first person.", "I think so.\n", "a.md"),
    ("MUST NOT", "No trailing whitespace.", "x = 1  \n", "a.py"),
    ("MUST NOT", "Do not use tabs.", "\tx = 1\n", "a.py"),
    ("MUST NOT", "Never use a bare except.", "try: pass\nexcept:\n    pass\n", "a.py"),
    ("MUST NOT", "Wildcard imports are forbidden.", "from a import *\n", "a.py"),
    (
        "MUST",
        "Every request MUST include the `Idempotency-Key` header.",
        "requests.post(u)\n",
        "a.py",
    ),
    (
        "MUST",
        "The response must include the fields `id` and `name`.",
        '{"response": {"id": 1}}',
        "-",
    ),
    ("MUST", 'The report must contain a "Risks" section.', "# Report\n\n## Costs\n", "a.md"),
    ("MUST", "**Required Fields**: name, price, sku", '{"name": "x", "price": 1}', "-"),
    ("MUST", "Required fields: `name`, `price`, `sku`", "post(json={'sku': 1, 'name': n})", "a.py"),
    ("MUST", "The output must be valid JSON.", "{'a': 1}", "-"),
    ("MUST", "The file must start with `# SPDX`.", "x = 1\n", "a.py"),
    ("MUST NOT", 'The answer must not begin with "Sure".', "Sure, here it is.\n", "a.md"),
    ("MUST NOT", "Never call `open` in `core/`.", "open(x)\n", "src/core/a.py"),
]


@pytest.mark.parametrize(("modality", "rule", "text", "path"), BROKEN)
def test_a_broken_rule_is_found(modality, rule, text, path):
    assert breaks(modality, rule, text, path)


KEPT = [
    ("MUST NOT", "Never use `eval`.", "evaluate(x)\nmodel.eval()\n", "o.py"),
    ("MUST NOT", "Never use `eval`.", "# we never use eval here\nast.literal_eval(x)\n", "o.py"),
    ("MUST NOT", "Never use `eval`.", "Do not use `eval` in this project.\n", "a.md"),
    ("MUST NOT", "Never use `var` in JavaScript.", "var = 1\n", "o.py"),
    ("MUST NOT", "Do not use `print`; use `logging` instead.", "logging.info(1)\n", "o.py"),
    ("MUST NOT", "Clients MUST NOT retry on `4xx` errors.", "if 4xx: raise\n", "o.py"),
    (
        "MUST NOT",
        "An endpoint MUST NOT send `STREAM` before the handshake.",
        "send(STREAM)\n",
        "o.py",
    ),
    ("MUST NOT", "Never use `Math.random()` for tokens.", "jitter = Math.random()\n", "a.js"),
    ("MUST NOT", "Never expose keys in client-side code", 'key = os.environ["API_KEY"]\n', "a.py"),
    ("MUST NOT", "Never expose keys in client-side code", 'api_key = "YOUR_API_KEY"\n', "a.py"),
    ("MUST NOT", "Never expose keys in client-side code", 'token_type = "access_token1"\n', "a.py"),
    ("MUST NOT", "Never commit keys to version control", "Authorization: Bearer YOUR_API_KEY", "-"),
    ("MUST NOT", "Never put a key into a URL", 'get("/a?page=2", headers=key)\n', "a.py"),
    ("MUST", "All API requests must use HTTPS.", '"https://a.com", "http://localhost:1"\n', "a.py"),
    ("MUST NOT", "Lines must not exceed 20 characters.", "x" * 20 + "\n", "a.py"),
    (
        "MUST",
        "The summary must be at most 3 words.",
        "# Summary\n\na b c\n\n# B\n\na b c d\n",
        "a.md",
    ),
    ("MUST", "Every request MUST include the `X-Key` header.", "def add(a, b): ...\n", "a.py"),
    (
        "MUST",
        "Every request MUST include the `X-Key` header.",
        "get(u, headers={'X-Key': k})",
        "a.py",
    ),
    (
        "MUST",
        'The report must contain a "Risks" section.',
        "# Report\n\n**Risks:**\n\nNone.\n",
        "a.md",
    ),
    ("MUST", "Required fields: name, price, sku", '{"name": 1, "price": 2, "sku": 3}', "-"),
    ("MUST", "Required fields: name, price, sku", '{"name": 1, "age": 2}', "-"),
    ("MUST", "The output must be valid JSON.", '{"a": 1}', "-"),
    ("MAY", "Clients may use `eval`.", "eval(x)\n", "o.py"),
    ("MUST NOT", "Never use exclamation marks.", "if (a != b) stop\n", "a.md"),
    ("MUST NOT", "Never use exclamation marks in narration.", '"Stop!" he said.\n', "a.md"),
    ("MUST NOT", "Do not use tabs unless a Makefile needs them.", "\tx\n", "a.py"),
    ("MUST NOT", "Never call `open` in `core/`.", "open(x)\n", "src/edge/a.py"),
]


@pytest.mark.parametrize(("modality", "rule", "text", "path"), KEPT)
def test_what_keeps_to_a_rule_is_left_alone(modality, rule, text, path):
    assert breaks(modality, rule, text, path) == []


@pytest.mark.parametrize(
    ("modality", "rule"),
    [
        ("MUST NOT", "Never surprise the user."),
        ("MUST", "All API requests must include authentication."),
        ("MUST NOT", "Do not store `access_token` in `localStorage`."),
        ("MUST", "Errors must be handled gracefully."),
    ],
)
def test_what_no_rule_can_decide_has_no_check(modality, rule):
    assert derive(rule, modality) == ()


def test_a_break_is_placed_where_it_stands():
    assert breaks("MUST NOT", "Never use `eval`.", "a = 1\nb = [eval(x)]\n") == [
        (2, 6, "'eval' is not allowed")
    ]


def test_a_condition_makes_what_is_missing_a_warning():
    rule = "If a request fails, the client must include a `Retry-After` header."
    made = Rule("r", rule, "MUST", "error", Source("a.md"), derive(rule, "MUST"))
    (found,) = run("p", [made], [Output("a.py", "request failed\n", "python")]).diagnostics
    assert (found.level, found.message) == ("warning", "Retry-After is missing")


def test_what_is_missing_may_stand_in_another_output():
    rule = "Every request MUST include the `X-Key` header."
    other = Output("b.py", "headers = {'X-Key': 1}\n", "python")
    assert breaks("MUST", rule, "requests.get(u)\n", more=[other]) == []


@pytest.mark.parametrize(
    "hostile",
    [
        "`" * 4000,
        "never use " * 400,
        "must include " + "a " * 2000,
        '"' * 3000,
        "not " * 1000,
        "`a` or " * 600,
    ],
)
def test_a_hostile_rule_costs_no_time(hostile):
    for modality in ("MUST", "MUST NOT"):
        derive(hostile, modality)


@pytest.mark.parametrize(
    ("rule", "text", "path"),
    [
        ('The name is spelled "Cargo", never "cargo".', "Cargo builds it.\n", "a.md"),
        ("Never use `eval`.", '"""Never use eval here."""\nx = 1\n', "a.py"),
        ("Never write in the first person.", '"I know," she said. "It\'s mine."\n', "a.md"),
    ],
)
def test_what_is_right_or_only_quoted_is_no_break(rule, text, path):
    assert breaks("MUST NOT", rule, text, path) == []


def test_a_call_beside_a_docstring_is_a_break():
    text = '"""Never use eval."""\nx = eval(y)\n'
    assert breaks("MUST NOT", "Never use `eval`.", text) == [(2, 5, "'eval' is not allowed")]
