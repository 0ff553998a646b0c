"""What several tests need."""

import contextlib
import os
import signal
import threading
import time

import pytest


@contextlib.contextmanager
def _interrupted(after, when=lambda: True):
    sent = []

    def send():
        until = time.perf_counter() + 60
        while not when() and time.perf_counter() < until:
            time.sleep(0.01)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(after, send)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
        # less than a second on a machine of its own
        assert time.perf_counter() - sent[0] < 8
    finally:
        timer.cancel()
        timer.join()


@pytest.fixture(autouse=True, scope="session")
def _ctrl_c_is_heard():
    """A shell that starts the tests in the background has Ctrl-C ignored, and those that wait for it would never end."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def interrupted():
    """A context in which Ctrl-C is pressed after some seconds, when something holds, and which must end soon after it."""
    return _interrupted
