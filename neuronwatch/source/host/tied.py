# Becomes the program in its arguments, which then dies with its parent. Run as a script: `python -I -S tied.py PARENT PROGRAM ...`.
# (`preexec_fn` is not safe in a process with threads.)
import os
import sys

PR_SET_PDEATHSIG = 1
SIGKILL = 9


def main() -> None:
    parent = int(sys.argv[1])
    if sys.platform.startswith("linux"):
        try:
            import ctypes

            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
        except (ImportError, OSError, AttributeError):
            pass
    if os.getppid() != parent:
        return  # it died before we asked
    try:
        os.execv(sys.argv[2], sys.argv[2:])
    except OSError as error:
        sys.stderr.write(f"{sys.argv[2]}: {error.strerror}\n")
        sys.exit(126 if isinstance(error, PermissionError) else 127)


if __name__ == "__main__":
    main()
