"""Small functions that tests send to other processes, or read options with."""
import sys
import time

from lathe.testing.parametrize import *  # noqa: F401,F403
from lathe.testing.requires import *  # noqa: F401,F403


def identity_after(x, sleep):
    """x, after so many seconds."""
    time.sleep(sleep or 0)
    return x


def terminate_self():
    """Ends this process, as a failure."""
    sys.exit(-1)


def strtobool(val):
    """1 of "yes", "true", "on" ..., 0 of their opposites; a ValueError of other texts."""
    word = val.lower()
    if word in ("y", "yes", "t", "true", "on", "1"):
        return 1
    if word in ("n", "no", "f", "false", "off", "0"):
        return 0
    raise ValueError(f"invalid truth value {val!r}")
