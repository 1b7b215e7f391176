"""The compilation of a database as a program: a request on stdin, the database on stdout. Hyperscan's compiler takes 30 MiB
for half a second and does not give them back, so it is run elsewhere (types.Apart)."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from neuronwatch.judge.match.superset import Superset


def request(windows: Sequence[bytes], widened: Sequence[Superset], padded: int) -> bytes:
    texts = [window.decode("latin-1") for window in windows]
    return json.dumps([texts, [[item.expression.decode("ascii"), item.fold] for item in widened], padded]).encode()


def answer(asked: bytes) -> bytes:
    """The serialised database for a request. Raises hyperscan.error for an expression that is too much for it."""
    import hyperscan

    from neuronwatch.judge.match import database

    texts, widened, padded = json.loads(asked)
    expressions = [Superset(text.encode("ascii"), fold) for text, fold in widened]
    return bytes(hyperscan.dumpb(database.build([text.encode("latin-1") for text in texts], expressions, padded)))


if __name__ == "__main__":
    sys.stdout.buffer.write(answer(sys.stdin.buffer.read()))
