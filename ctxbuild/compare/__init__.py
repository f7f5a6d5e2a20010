"""Artifacts against something: what differs between packs, and what that costs a reader."""
