"""What neuronwatch keeps on disk."""
