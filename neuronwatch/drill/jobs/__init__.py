"""The jobs of the simulated host: what runs on its devices."""
