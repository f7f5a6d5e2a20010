"""`check`: signs of rot, and a gate."""

from __future__ import annotations

import json

import pytest

CTXFILE = """\
version = 1

[targets.refunds]
question = "How is a refund paid?"
budget = 600
{keys}
"""
REFUND = '''\
def refund(order):
    """Pays a refund."""
    ledger = open_ledger(order)
    ledger.pay(order.customer, order.total)
    return ledger.close()
'''
FILES = {
    "shop/refund.py": REFUND,
    "shop/old/refund.py": REFUND.replace("order.total", "order.total - FEE").replace(
        "close", "end"
    ),
    "shop/cart.py": "def add(cart, thing):\n    return [*cart, thing]\n",
}


@pytest.fixture
def project(empty):
    return empty.write({**FILES, "ctxfile.toml": CTXFILE.format(keys="")})


def test_signs_of_rot_are_shown_and_fail_nothing_unless_forbidden(project):
    found = project("check")
    assert found.code == 0
    assert "refunds  CONFLICTING  no         two versions of refund: " in found.out


def test_what_a_target_forbids_fails_the_check(project):
    project.write({"ctxfile.toml": CTXFILE.format(keys='forbid = ["CONFLICTING"]')})
    found = project("check", "--json")
    assert found.code == 1
    (target,) = found.data["targets"]
    assert found.data["ok"] is False
    conflicting = [rot for rot in target["rot"] if rot["kind"] == "CONFLICTING"]
    assert [(rot["forbidden"], sorted(rot["units"])) for rot in conflicting] == [
        (True, ["shop/old/refund.py::refund", "shop/refund.py::refund"])
    ]


def test_the_command_line_can_forbid_more(project):
    assert project("check", "--forbid", "conflicting").code == 1
    assert project("check", "--forbid", "STALE").code == 0
    assert project("check", "--forbid", "all").code == 1
    wrong = project("check", "--forbid", "STALED")
    assert (wrong.code, wrong.err) == (
        2,
        "ctxbuild: --forbid: there is no 'STALED': did you mean STALE?\n",
    )


def test_a_pack_is_stale_once_its_source_says_something_else(project):
    project("build")
    assert project("check", "--forbid", "STALE").code == 0
    project.edit("shop/cart.py", "[*cart, thing]", "cart")  # no evidence
    project.edit("shop/refund.py", "def refund", "X = 1\n\n\ndef refund")  # moved
    moved = project("check", "--forbid", "STALE", "--json").data["targets"][0]["rot"]
    assert [rot for rot in moved if "shop/refund.py::refund" in rot["units"]] == [
        rot for rot in moved if rot["kind"] == "CONFLICTING"
    ]
    project.edit("shop/refund.py", "ledger.pay(order.customer", "ledger.send(order.customer")
    found = project("check", "--forbid", "STALE")
    assert found.code == 1
    assert "STALE        yes        shop/refund.py::refund: the source has changed" in found.out
    project("build")
    assert project("check", "--forbid", "STALE").code == 0


def test_a_pack_that_answers_another_question_is_stale(project):
    project("build")
    text = CTXFILE.format(keys="").replace("paid?", "refused?")
    project.write({"ctxfile.toml": text})
    found = project("check", "--forbid", "STALE")
    assert found.code == 1
    assert "was found for another question" in found.out


def test_packs_elsewhere_are_looked_at_where_they_are_named(project):
    project("build")
    kept = project.root / "kept"
    (project.root / ".ctxbuild" / "packs").rename(kept)
    project.edit("shop/refund.py", "ledger.pay", "ledger.send")
    assert project("check", "--forbid", "STALE").code == 0
    assert project("check", "--forbid", "STALE", "--against", "kept").code == 1
    assert project("check", "--against", "nowhere").code == 2


def test_a_target_without_a_question_is_looked_at_only_where_something_is_forbidden(shop):
    text = 'version = 1\n[targets.all]\nfiles = ["shop"]\ndomination = 0.01\n'
    shop.write({"ctxfile.toml": text})
    assert shop("check").out == "target  rot   forbidden  what\nall     none  -\n"
    assert shop("check", "--forbid", "STALE").out.splitlines()[1].startswith("all     DOMINATION")
    assert shop("check", "--forbid", "DOMINATION").code == 1


def test_a_target_that_cannot_be_built_fails_the_check(shop):
    shop.edit("ctxfile.toml", "shop/app.py", "shop/none.py")
    found = shop("check", "--json")
    assert found.code == 1
    assert "matches no file" in found.data["targets"][0]["error"]


def test_checking_writes_nothing(project):
    project("check")
    assert not (project.root / ".ctxbuild").exists()


def test_a_build_warns_and_reports_and_keeps_what_it_found(project):
    found = project("build", "--json")
    assert found.code == 0
    (target,) = found.data["targets"]
    assert "CONFLICTING" in [rot["kind"] for rot in target["rot"]]
    assert "warning: refunds: CONFLICTING: two versions of refund: " in found.err
    artifact = json.loads((project.root / ".ctxbuild/packs/refunds.pack.json").read_bytes())
    assert artifact["rot"] == target["rot"]
    assert artifact["questions"] == {"question": "How is a refund paid?"}
    again = project("build", "--json").data["targets"][0]
    assert (again["status"], again["rot"]) == ("fresh", target["rot"])


def test_an_artifact_that_cannot_be_read_is_stale(project):
    project("build")
    project.write({".ctxbuild/packs/refunds.pack.json": "{}"})
    found = project("check", "--forbid", "STALE")
    assert found.code == 1
    assert "refunds.pack.json: is not a pack" in found.out
