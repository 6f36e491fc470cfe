# SPDX-License-Identifier: Apache-2.0
"""Holdfast: durable transactions on memory.

`holdfast.open` opens a database (holdfast/database.py). The rest is the command line and the tools
around the C++ core, which is the extension module `holdfast._core` (holdfast/core.py).
"""

from pkgutil import extend_path

__version__ = "0.1.0"

# In a checkout the extension module lies in the build folder, a second entry of sys.path with the
# same package in it (tools/install_development.py). In a wheel there is one folder, and this adds
# nothing.
__path__ = extend_path(__path__, __name__)

# Last: these modules are found along __path__.
from holdfast.database import Changes, Database, open
from holdfast.database_map import Map
from holdfast.database_reader import Snapshot
from holdfast.database_transaction import Transaction
from holdfast.errors import (
    ClosedError,
    DamagedError,
    DatabaseError,
    DeniedError,
    DirectoryError,
    ExistsError,
    FileError,
    FullError,
    LockedError,
    MissingError,
    MisuseError,
    NotADatabaseError,
    ReadOnlyError,
    SequenceTooOldError,
)

# The name that such a class has in sqlite3, lmdb and plyvel.
Error = DatabaseError

__all__ = [
    "Changes",
    "ClosedError",
    "DamagedError",
    "Database",
    "DatabaseError",
    "DeniedError",
    "DirectoryError",
    "Error",
    "ExistsError",
    "FileError",
    "FullError",
    "LockedError",
    "Map",
    "MissingError",
    "MisuseError",
    "NotADatabaseError",
    "ReadOnlyError",
    "SequenceTooOldError",
    "Snapshot",
    "Transaction",
    "open",
]
