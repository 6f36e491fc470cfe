# SPDX-License-Identifier: Apache-2.0
import holdfast

with holdfast.open("visits.db") as db:
    with db.transaction() as t:
        t["visits"] = str(int(t.get("visits", 0)) + 1)
    print("visit", int(db["visits"]))
