"""Errors that a user can cause and mend."""

import errno

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # of an OSError: what was to be written, not what was read, is at fault


class DataError(ValueError):
    """Bad input: the message is one line with file, place, what was expected and what to do."""
