"""Books a transfer exactly once, however often it is killed on the way: start it again until it
ends by itself.

    python crash_and_recover.py gtc.toml eu us transfers

The transaction carries a key, so that after a crash the program asks what became of it instead of
booking twice.
"""

import os
import signal
import sys
import threading

import gtc

KEY = "transfer-1"


def main(config: str, first: str, second: str, topic: str, kill_after_s: str = "") -> None:
    with gtc.Coordinator.open(config) as coordinator:
        # What an earlier run left open is finished first, so that the answer is final.
        coordinator.recover()
        found = coordinator.outcome_by_key(KEY)
        if found is not None and found.outcome == "committed":
            print(f"{KEY} was booked before, as {found.id}")
            return
        if kill_after_s:
            threading.Timer(float(kill_after_s), die).start()
        while True:
            try:
                with coordinator.transaction(KEY) as txn:
                    txn.send(first, topic, b"-100", key=KEY)
                    txn.send(second, topic, b"+100", key=KEY)
                print(f"{KEY} is booked, as {txn.id}")
                return
            except gtc.AbortedError as error:
                # Nothing is visible: it can run again, where that may help. In doubt it must not.
                if error.retry != "later":
                    raise
                print(f"again: {error}", file=sys.stderr)


def die() -> None:
    """What a power cut does."""
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])
