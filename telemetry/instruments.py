"""Every span name of the house, in one place. Attributes carry ids, codes and counts; never text of a conversation."""

TURN_SPAN = "turn"  # proxy: from the opened session to the commit
COMMIT_SPAN = "turn.commit"  # proxy: the one short transaction
SHADOW_SPAN = "shadow.replay"  # shadow worker: replay and comparison of one job
