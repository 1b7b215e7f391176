"""The words of neuronwatch as frozen records. Standard library only; imports no other room."""
