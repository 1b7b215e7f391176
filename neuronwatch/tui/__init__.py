"""The dashboard: a client of the daemon. Feeds give events, the view holds what is known, pages draw it as rows (design 0010)."""
