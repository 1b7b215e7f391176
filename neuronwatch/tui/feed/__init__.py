"""Where events come from: the daemon, a private daemon, a recording."""
