"""The loop: READ, ANALYZE, MONITOR over its sets, whatever a policy answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxbuild.select.realm.loop import Answer, Loop, Node


def nodes(**children: str) -> dict[str, Node]:
    """Ids to nodes; `a="b c"` has the children b and c."""
    inside = {child for names in children.values() for child in names.split()}
    every = dict.fromkeys([*children, *sorted(inside)])
    return {
        id_: Node(id_, "a.md", id_, (id_,), tuple(children.get(id_, "").split())) for id_ in every
    }


class Script:
    """A policy that reads in a given order, keeps given ids and stops when told."""

    def __init__(self, reads=(), keeps=(), enough=99):
        self.reads = list(reads)
        self.keeps = set(keeps)
        self.enough = enough
        self.monitored = []
        self.looks = []

    def read(self, state):
        return self.reads.pop(0) if self.reads else next(iter(state.unread()), None)

    def analyze(self, state, node):
        self.looks.append(node.id)
        return Answer(node.id in self.keeps, "said so")

    def monitor(self, state):
        self.monitored.append(list(state.selected))
        return Answer(len(state.selected) >= self.enough, "counted")


def run(tree, policy, steps=100, roots=("top",)):
    return Loop(tree, roots, policy, steps).run()


def test_a_parent_expands_into_its_children_and_leaves_are_judged():
    policy = Script(keeps=["b"])
    outcome = run(nodes(top="a b"), policy)
    assert list(outcome.selected) == ["b"]
    assert outcome.trace[:3] == (
        {"read": "top", "expand": ["a", "b"], "analyze": "hide: said so"},
        {"read": "a", "analyze": "hide: said so"},
        {"read": "b", "analyze": "keep: said so", "monitor": "go on: counted"},
    )


def test_the_first_relevant_leaf_is_kept_and_nothing_raises():
    outcome = run(nodes(top=""), Script(keeps=["top"]))
    assert list(outcome.selected) == ["top"]
    assert outcome.stopped == "exhausted"


def test_monitor_is_asked_after_every_section_that_is_kept_and_its_yes_ends_the_loop():
    policy = Script(keeps=["a", "b", "c"], enough=2)
    outcome = run(nodes(top="a b c"), policy)
    assert policy.monitored == [["a"], ["a", "b"]]
    assert outcome.stopped == "enough"
    assert outcome.trace[-1] == {"stop": "enough"}


def test_a_parents_own_text_is_judged_too():
    policy = Script(keeps=["top"])
    outcome = run(nodes(top="a"), policy)
    assert "top" in outcome.selected
    assert policy.looks[0] == "top"


def test_a_parent_without_text_of_its_own_is_not_judged():
    tree = {
        "top": Node("top", "a.md", "top", ("Top",), ("a",), has_text=False),
        "a": Node("a", "a.md", "a", ("Top", "A")),
    }
    policy = Script()
    run(tree, policy)
    assert policy.looks == ["a", "a"]


def test_a_first_strike_hides_and_a_second_blocks():
    outcome = run(nodes(top=""), Script())
    assert [step.get("analyze") for step in outcome.trace] == [
        "hide: said so",
        None,
        "block: said so",
        None,
    ]
    assert outcome.state.blocked == {"top": "said so"}
    assert outcome.state.hidden == {}


def test_hidden_sections_resurface_once_and_really_get_a_second_look():
    class SecondThoughts(Script):
        def analyze(self, state, node):
            super().analyze(state, node)
            return Answer(state.second_look and node.id == "a", "thought again")

    policy = SecondThoughts()
    outcome = run(nodes(top="a b"), policy)
    assert policy.looks == ["top", "a", "b", "top", "a", "b"]
    assert list(outcome.selected) == ["a"]
    assert [step for step in outcome.trace if "resurface" in step] == [
        {"resurface": ["top", "a", "b"]}
    ]
    assert list(outcome.state.blocked) == ["top", "b"]


def test_a_section_expands_only_once_though_it_is_read_twice():
    outcome = run(nodes(top="a"), Script())
    assert [step["expand"] for step in outcome.trace if "expand" in step] == [["a"]]


def test_an_id_that_is_not_visible_is_refused_and_can_still_be_read_later():
    policy = Script(reads=["a", "top", "a"], keeps=["a"])
    outcome = run(nodes(top="a"), policy)
    assert outcome.trace[0] == {"read": "a", "refused": "not visible"}
    assert list(outcome.selected) == ["a"]


def test_an_id_that_was_read_is_refused():
    policy = Script(reads=["top", "top"])
    outcome = run(nodes(top="a"), policy)
    assert outcome.trace[1] == {"read": "top", "refused": "already read"}


def test_after_three_refusals_the_first_visible_section_is_read():
    policy = Script(reads=["no", "no", "no", "no"], keeps=["top"])
    outcome = run(nodes(top=""), policy)
    assert [step.get("refused") for step in outcome.trace[:3]] == ["not visible"] * 3
    assert outcome.trace[3]["read"] == "top"


def test_a_policy_that_wants_nothing_more_ends_the_loop_after_the_second_look():
    class Bored(Script):
        def read(self, state):
            return None

    assert run(nodes(top="a"), Bored()).trace == ({"stop": "exhausted"},)


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_no_more_than_the_given_steps_are_taken(steps):
    outcome = run(nodes(top="a b c d e f g"), Script(), steps)
    assert outcome.stopped == "steps"
    assert len([step for step in outcome.trace if "read" in step]) == steps


def test_equal_policies_give_equal_traces_and_sets_in_order():
    first, second = (run(nodes(top="c a b"), Script(keeps=["b", "c"])) for _ in range(2))
    assert first.trace == second.trace
    assert list(first.selected) == ["c", "b"]


@given(st.data())
def test_whatever_a_policy_answers_the_sets_stay_apart_and_the_loop_ends(data):
    tree = nodes(top="a b", a="c d", b="e")
    ids = [*tree, "nowhere"]

    class Anything:
        def read(self, state):
            return data.draw(st.sampled_from([*ids, None]))

        def analyze(self, state, node):
            return Answer(data.draw(st.booleans()), "")

        def monitor(self, state):
            return Answer(data.draw(st.booleans()), "")

    outcome = run(tree, Anything(), steps=40)
    state = outcome.state
    judged = [*state.selected, *state.hidden, *state.blocked]
    assert len(judged) == len(set(judged))
    assert not set(state.visible) & set(state.blocked)
    assert set(state.expanded) <= set(tree)
    assert "nowhere" not in state.visited
    assert outcome.trace[-1] == {"stop": outcome.stopped}
