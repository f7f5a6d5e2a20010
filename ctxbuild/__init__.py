"""ctxbuild: make for context windows.

import ctxbuild

pack = ctxbuild.load(".").build("engine")
print(pack.text, pack.tokens)
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ctxbuild.errors import CtxbuildError as CtxbuildError
    from ctxbuild.model import Block as Block
    from ctxbuild.model import Pack as Pack
    from ctxbuild.model import Plan as Plan
    from ctxbuild.model import Reason as Reason
    from ctxbuild.model import Verdict as Verdict
    from ctxbuild.serve.library import Project as Project
    from ctxbuild.serve.library import load as load
    from ctxbuild.serve.loops import assemble as assemble
    from ctxbuild.serve.loops import compact as compact
    from ctxbuild.serve.loops import remember as remember
    from ctxbuild.serve.messages import messages as messages

__version__ = "0.1.0"

__all__ = [
    "Block",
    "CtxbuildError",
    "Pack",
    "Plan",
    "Project",
    "Reason",
    "Verdict",
    "__version__",
    "assemble",
    "compact",
    "load",
    "messages",
    "remember",
]

_HOMES = {
    "Block": "ctxbuild.model",
    "CtxbuildError": "ctxbuild.errors",
    "Pack": "ctxbuild.model",
    "Plan": "ctxbuild.model",
    "Project": "ctxbuild.serve.library",
    "Reason": "ctxbuild.model",
    "Verdict": "ctxbuild.model",
    "assemble": "ctxbuild.serve.loops",
    "compact": "ctxbuild.serve.loops",
    "remember": "ctxbuild.serve.loops",
    "load": "ctxbuild.serve.library",
    "messages": "ctxbuild.serve.messages",
}


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first used, so that `import ctxbuild` costs nothing."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'ctxbuild' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)
