"""Reference data: dated tables with a source for each row, read only when asked for."""
