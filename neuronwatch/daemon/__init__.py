"""The daemon: its loop, what it makes of deliveries, its socket, its exporters."""
