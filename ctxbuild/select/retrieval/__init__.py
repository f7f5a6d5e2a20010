"""From a question to ranked units: planned, searched, sliced and denoised."""
