"""Rows of styled spans: width, marks, bars, heat, lines of history. No terminal."""
