"""The program that `lean.again` starts: the daemon, with the options that were handed over in the environment."""

import os
import sys

_HANDED = os.environ.pop("NEURONWATCH_START", "")


def main() -> int:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [place for place in sys.path if place and os.path.abspath(place) != here]  # our modules are no top-level ones
    import json

    try:
        handed = json.loads(_HANDED)
        sys.path[:] = handed["path"]
        options = handed["start"]
    except (ValueError, KeyError, TypeError):
        sys.stderr.write("neuronwatch: use `neuronwatch daemon`\n")
        return 64
    from neuronwatch.daemon import streams
    from neuronwatch.daemon.start import Start, run

    streams.prepare()
    try:
        return run(Start(**options))
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        told = streams.one_line(f"{type(error).__name__}: {error}")
        sys.stderr.write(f"neuronwatch: {told} ({streams.DEFECT})\n")
        return 70


if __name__ == "__main__":
    sys.exit(main())
