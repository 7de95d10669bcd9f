"""What the tag of an operation says of it."""
ELEMWISE = "elemwise"
BROADCAST = "broadcast"
INJECTIVE = "injective"
COMM_REDUCE = "comm_reduce"
COMM_REDUCE_IDX = "comm_reduce_idx"


def is_broadcast(tag):
    return tag in (ELEMWISE, BROADCAST) or tag.startswith(ELEMWISE) or tag.startswith(BROADCAST)


def is_injective(tag):
    return tag.startswith(INJECTIVE) or is_broadcast(tag)
