"""Who else is told: one file per exporter, each with `make(service) -> Exporter | None` (None: it is not configured)."""
