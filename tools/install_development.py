# SPDX-License-Identifier: Apache-2.0
"""Makes this checkout's Python package importable from the environment that runs this script.

Two lines in a .pth file name the sources and the folder of the built extension modules. Nothing is
copied, so an edited file or a rebuilt module is in use at once, and nothing is compiled twice. A
wheel (`pip wheel .`) needs none of this.
"""

import stat
import sys
import sysconfig
from pathlib import Path

COMMAND = """#!{python}
# SPDX-License-Identifier: Apache-2.0
from holdfast.cli import main

if __name__ == "__main__":  # spawned processes import this file
    main()
"""


def install(repository: Path, build: Path) -> Path:
    site = Path(sysconfig.get_path("purelib"))
    (site / "holdfast.pth").write_text(f"{repository / 'python'}\n{build / 'python'}\n")
    command = Path(sysconfig.get_path("scripts")) / "holdfast"
    command.write_text(COMMAND.format(python=sys.executable))
    command.chmod(command.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return command


if __name__ == "__main__":
    print(install(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()))
