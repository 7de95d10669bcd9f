"""Places in texts. Nodes keep none; programs make them to pass them on."""
import typing


class SourceName(typing.NamedTuple):
    """What a text is called."""

    name: str


class Span(typing.NamedTuple):
    """From a line and column of a text to another."""

    source_name: SourceName
    line: int
    end_line: int
    column: int
    end_column: int
