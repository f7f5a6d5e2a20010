"""The world, read: the ctxfile, ignore rules, git, and the snapshot of a directory tree.

`ctxfile.load` reads what the user declares, `scan.scan` what is on the disk.
Nothing here is imported eagerly, so that a build that has nothing to do stays fast.
"""
