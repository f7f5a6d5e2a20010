"""A pack as a list of evidence: what it rests on, chunk by chunk, with provenance and warnings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_WHY = {
    "near-duplicate": "says nearly the same as {detail}",
    "below-threshold": "scores below {detail}",
    "asks-the-same": "only asks the question again",
    "contained": "is shown as a part of {detail}",
    "cap": "comes after the first {detail}",
}
_NO_ROOM = "does not fit into the budget"


def evidence(artifact: Mapping[str, Any], plan: Mapping[str, Any]) -> dict[str, Any]:
    """The artifact and the plan of a pack as evidence.

    Args:
        artifact: what `NAME.pack.json` holds.
        plan: what `NAME.plan.json` holds.

    Returns:
        Plain data: `question`, `chunks`, `total_tokens` (exact, of the rendered pack with
        its headers), `token_budget`, `provenance` and `warnings`. Tokens and hash of a
        chunk are those of its text as it is shown.
    """
    chunks = [_chunk(block) for block in artifact["blocks"]]
    keys = ("chunk_id", "path", "symbol", "method", "score", "tokens")
    return {
        "question": " / ".join(artifact.get("questions", {}).values()),
        "chunks": chunks,
        "total_tokens": artifact["tokens"],
        "token_budget": artifact["budget"] - artifact["reserve"],
        "provenance": [{key: chunk[key] for key in keys} for chunk in chunks],
        "warnings": [*artifact["warnings"], *_left_out(plan)],
    }


def evidence_text(files: Mapping[str, bytes], target: str) -> str:
    """The evidence of a target's output files as JSON text.

    Args:
        files: name to content; artifact and plan are among them.
        target: its name.
    """
    artifact, plan = (json.loads(files[f"{target}.{end}.json"]) for end in ("pack", "plan"))
    return json.dumps(evidence(artifact, plan), indent=2) + "\n"


def _chunk(block: Mapping[str, Any]) -> dict[str, Any]:
    first, last = block["lines"] or (None, None)
    reasons = block["reasons"]
    return {
        "chunk_id": block["unit"],
        "path": block["path"],
        "symbol": block["symbol"],
        "text": block["text"],
        "start_line": first,
        "end_line": last,
        "form": block["form"],
        "method": reasons[0]["kind"] if reasons else block["form"],
        "score": block["score"],
        "tokens": block["tokens"],
        "content_hash": block["digest"],
    }


def _left_out(plan: Mapping[str, Any]) -> list[str]:
    """A line for each candidate that was dropped, with its tokens and score."""
    found = []
    for each in plan["candidates"]:
        if each["verdict"] == "dropped":
            why = _WHY.get(each["why"], _NO_ROOM).format(detail=each.get("detail", ""))
            costs = [cost["tokens"] for cost in each["costs"]]
            tokens = f"{max(costs):,} tokens, " if costs else ""
            found.append(f"dropped {each['unit']} ({tokens}score {each['score']:.4f}): {why}")
    return found
