"""Who answers: a session in this process, and later a daemon for many of them."""
