"""neuronwatch: diagnosis and monitoring for AWS Trainium and Inferentia instances."""

__version__ = "0.1.0"
