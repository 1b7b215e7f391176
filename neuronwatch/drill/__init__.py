"""The simulated Neuron host: a directory that looks and behaves like an instance, and faults to rehearse with."""
