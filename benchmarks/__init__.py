"""What ctxbuild costs and what its packs are worth, measured on real sources.

`python -m benchmarks` prints a table; `--json FILE` also writes the numbers. Source
archives are pinned by hash and fetched once. Seconds depend on the machine, so what
counts are ratios between programs that ran alternately in the same run.
"""
