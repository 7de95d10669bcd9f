"""Tags that a scope gives to the operations made in it."""


class TagScope:
    """Operations that have no tag take this one: in a `with`, or of a decorated function."""

    current = None

    def __init__(self, tag):
        self.tag, self._outer = tag, None

    def __enter__(self):
        if TagScope.current is not None:
            raise ValueError("tag_scope: tag scopes do not nest; leave the one around first")
        TagScope.current = self
        return self

    def __exit__(self, *error):
        TagScope.current = None

    def __call__(self, function):
        def tagged(*args, **options):
            with self:
                return function(*args, **options)

        return tagged


def tag_scope(tag):
    """The scope of `tag`."""
    return TagScope(tag)


def tag_or_scope(tag):
    """`tag`, or that of the scope around."""
    if TagScope.current is None:
        return tag
    if tag:
        raise ValueError(f"tag_scope: the operation has the tag \"{tag}\", the scope around says another")
    return TagScope.current.tag
