"""One file per command: `HELP`, `arguments(parser)` and `run(args, console)` to an exit code."""
