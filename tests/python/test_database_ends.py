# SPDX-License-Identifier: Apache-2.0
"""Do closing a database and ending a process work beside threads that use the database?"""

import subprocess
import sys


def python(script, *arguments):
    """Runs it in a process of its own, since a deadlock would keep this one as well."""
    line = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


def test_a_snapshot_or_its_database_closes_while_a_walk_begins(tmp_path):
    script = """
import sys, threading, holdfast
path, closing = sys.argv[1:]
db = holdfast.open(path, domain="process", max_bytes=1 << 28)
begun = threading.Event()

def walk(snapshot):
    try:
        while True:
            next(iter(snapshot), None)
            begun.set()
    except (holdfast.MisuseError, holdfast.ClosedError):
        pass

with db.snapshot() as snapshot:
    db.update({str(i): "" for i in range(20_000)})  # a walk takes a while to pass by them
    threads = [threading.Thread(target=walk, args=(snapshot,))]
    if closing == "both":
        threads.append(threading.Thread(target=lambda: (begun.wait(), db.close())))
    for thread in threads:
        thread.start()
    begun.wait()
for thread in threads:
    thread.join()
print("done")
"""
    for i in range(5):
        for closing in ("snapshot", "both"):
            path = tmp_path / f"{closing}{i}.db"
            assert python(script, path, closing) == (0, "done\n", "")
