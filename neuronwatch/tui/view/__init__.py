"""What the dashboard knows, as plain data: no terminal, no socket, no clock."""
