"""Incremental computation: memoised queries over recorded dependencies.

Knows nothing of files, code or tokens, and imports nothing of ctxbuild: it can
be lifted out. `query.py` declares, `database.py` decides and remembers,
`rows.py` persists, `executor.py` fans out, `events.py` tells what happened.
"""
