# SPDX-License-Identifier: Apache-2.0
from holdfast.cli import main

if __name__ == "__main__":
    main()
