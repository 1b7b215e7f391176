"""Live sources: one file per source, all behind `api.Source`."""
