"""Posts one document, in a process of its own: `python -m neuronwatch.daemon.exporters.webhook` with
`{"url", "headers", "timeout", "body"}` on its input. Ends with 0 when the answer was 2xx, 75 when it is worth another
attempt, 1 when it is not; what went wrong is one line on stderr, without the headers.
"""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request

AGAIN = 75
"""EX_TEMPFAIL"""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the Authorization header to wherever the answer says."""

    def redirect_request(self, *_arguments: object) -> None:
        return None


def main() -> int:
    order = json.load(sys.stdin)
    body = json.dumps(order["body"]).encode()
    request = urllib.request.Request(order["url"], body, {"Content-Type": "application/json", "User-Agent": "neuronwatch",
                                                          **order["headers"]}, method="POST")  # fmt: skip
    try:
        with urllib.request.build_opener(_NoRedirects).open(request, timeout=order["timeout"]) as answer:
            answer.read(4096)
        return 0
    except urllib.error.HTTPError as error:
        sys.stderr.write(f"the answer was {error.code} {error.reason}\n")
        return AGAIN if error.code in (408, 425, 429) or error.code >= 500 else 1
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return AGAIN if isinstance(error, OSError) else 1


if __name__ == "__main__":
    sys.exit(main())
