"""`python -m ctxbuild` is the `ctxbuild` command."""

from ctxbuild.cli.main import main

raise SystemExit(main())
