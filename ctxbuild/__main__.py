"""`python -m ctxbuild` is the `ctxbuild` command."""

from ctxbuild.cli.main import entry

if __name__ == "__main__":
    entry()
