"""blake2b without OpenSSL: `hashlib` loads it first, which takes 3 ms of every start and 3.5 MB of a daemon's memory."""

try:
    from _blake2 import blake2b
except ImportError:  # another Python than CPython
    from hashlib import blake2b

__all__ = ["blake2b"]
