"""Renderers of a diagnosis: terminal, JSON, Markdown. One result, three faces."""
