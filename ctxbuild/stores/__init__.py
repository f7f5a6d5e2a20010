"""What outlives a build: cached values, content-addressed files, and outputs."""
