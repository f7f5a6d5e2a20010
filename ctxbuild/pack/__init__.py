"""Candidates to artifact, in pipeline order: tokens, forms, fit, layout, render, pipeline."""
