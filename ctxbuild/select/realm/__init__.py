"""How documents are read for a task: the loop, what decides in it, and what becomes of it."""
