# SPDX-License-Identifier: Apache-2.0
"""Holdfast: durable transactions on memory. `holdfast.open` opens a database (holdfast/database.py); the rest is the
command line and the tools around the C++ core.

The core itself is the extension module `holdfast._core`; `holdfast.core` puts values in the place of its JSON.
"""

from pkgutil import extend_path

__version__ = "0.1.0"

# In a checkout the extension module lies in the build folder, a second entry of sys.path with the same
# package in it (see tools/install_development.py). In a wheel there is one folder and this adds nothing.
__path__ = extend_path(__path__, __name__)

# Last: they are found along __path__.
from holdfast.database import Database, Snapshot, Transaction, open
from holdfast.errors import (
    ClosedError,
    DamagedError,
    DatabaseError,
    FullError,
    LockedError,
    MissingError,
    MisuseError,
    NotADatabaseError,
    ReadOnlyError,
    SequenceTooOldError,
)

__all__ = [
    "ClosedError",
    "DamagedError",
    "Database",
    "DatabaseError",
    "FullError",
    "LockedError",
    "MissingError",
    "MisuseError",
    "NotADatabaseError",
    "ReadOnlyError",
    "SequenceTooOldError",
    "Snapshot",
    "Transaction",
    "open",
]
