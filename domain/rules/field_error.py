"""Why a value was refused: the words a caller may read. They name the field and the rule, never the value."""


class FieldError(Exception):
    """A value that breaks the rule of its field. `str(error)` is the message for the caller."""
