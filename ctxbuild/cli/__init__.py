"""The command line: `main.py` finds the command, `commands/` runs it, `console.py` prints."""
