"""Shows what needs a hand, and ends it as an operator decides.

    python resolve_in_doubt.py gtc.toml                    # lists
    python resolve_in_doubt.py gtc.toml 3-17 commit        # tries its branches again now
    python resolve_in_doubt.py gtc.toml 3-17 abort         # gives up its open branches
    python resolve_in_doubt.py gtc.toml 3-17 forget        # a mixed outcome was dealt with
"""

import sys

import gtc


def main(config: str, id: str = "", decision: str = "") -> None:
    with gtc.Coordinator.open(config) as coordinator:
        if decision == "forget":
            coordinator.forget(id)
        elif id:
            coordinator.resolve(id, decision)
        listed = coordinator.list()
        for transaction in listed:
            print(transaction.id, transaction.state, transaction.decision or "undecided")
            for branch in transaction.branches:
                print("   ", branch.participant, branch.state, branch.detail or "")
        if not listed:
            print("nothing is open")


if __name__ == "__main__":
    main(*sys.argv[1:])
