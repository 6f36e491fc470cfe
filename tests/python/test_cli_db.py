# SPDX-License-Identifier: Apache-2.0
"""Does `holdfast db` load, change and print entries, and explain wrong input?"""

import json
import random
import subprocess
import sys

import pytest

import holdfast
import sample


@pytest.fixture
def path(tmp_path):
    return tmp_path / "test.db"


@pytest.fixture
def db(invoke, path):
    """Runs `holdfast db VERB FILE ...` in this process and checks its exit status."""

    def run(verb, *arguments, status=0):
        changes = ("--domain", "process") if verb in ("load", "put", "delete") else ()
        result = invoke("db", verb, path, *arguments, *changes)
        assert result.exit_code == status, result.output
        return result

    return run


@pytest.fixture
def rows(tmp_path):
    """Writes a file of rows and returns its name."""

    def write(name, content):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path / name

    return write


def contents(path):
    with holdfast.open(path, read_only=True) as database:
        return dict(database)


@pytest.mark.parametrize(
    ("name", "content", "arguments", "expected"),
    [
        ("two.csv", 'k,v\na,1\nb,"2,\n""x"""\n', (), {b"a": b"1", b"b": b'2,\n"x"'}),
        ("two.tsv", "k\tv\na\t1\n\nb\t2\n", (), {b"a": b"1", b"b": b"2"}),
        ("bom.csv", "\ufeffk,v\r\nä,ö\r\n", ("--key", "k"), {"ä".encode(): "ö".encode()}),
        ("many.csv", "id,name,age\n1,ada,36\n", (), {b"1": b'{"name": "ada", "age": "36"}'}),
        (
            "many.csv",
            "id,name,age\n1,ada,36\n",
            ("--key", "name", "--value", "age"),
            {b"ada": b"36"},
        ),
        ("over.csv", "k,v\na,1\na,2\n", (), {b"a": b"2"}),
        (
            "two.jsonl",
            '{"key": "a", "value": "1"}\n\n{"value": [2], "key": 7}\n',
            (),
            {b"a": b"1", b"7": b"[2]"},
        ),
        (
            "many.jsonl",
            '{"id": 1, "n": "ada", "age": 36}',
            ("--key", "id"),
            {b"1": b'{"n": "ada", "age": 36}'},
        ),
        ("hex.csv", "k,v\n00ff,61\n", ("--bytes", "hex"), {b"\0\xff": b"a"}),
        ("escape.tsv", "k\tv\n\\x00\\\\\t\\n\\xff\n", ("--bytes", "escape"), {b"\0\\": b"\n\xff"}),
        ("rows.txt", "k,v\na,1\n", ("--format", "csv"), {b"a": b"1"}),
        ("x.csv", 'k;v\na;"1;"\n', ("--delimiter", ";"), {b"a": b"1;"}),
        ("x.csv", "k\tv\na\t1,\n", ("--delimiter", "tab"), {b"a": b"1,"}),
    ],
)
def test_load_understands_tables(db, rows, path, name, content, arguments, expected):
    result = db("load", rows(name, content), *arguments)
    assert contents(path) == expected and "entries loaded" in result.stdout


def test_load_shows_which_line_it_took_for_the_heading(db, rows, path):
    result = db("load", rows("x.csv", "a,1\nb,2\n"))
    assert contents(path) == {b"b": b"2"}
    assert "1 entries loaded" in result.stdout and "columns: a, 1" in result.stdout


@pytest.mark.parametrize(
    ("name", "content", "arguments", "expected"),
    [
        (
            "x.jsonl",
            '{"key": "a", "value": "1"}\n{"key": \n',
            (),
            ("line 2", "not JSON", "the 1 entries before"),
        ),
        ("x.jsonl", '["a"]\n', (), ("line 1", "no JSON object")),
        ("x.jsonl", '{"id": 1, "value": 2}\n', (), ("line 1", "no column 'key'", "id, value")),
        ("x.csv", "k,v\na,1\nb\n", (), ("line 3", "1 columns, not 2", "the 1 entries")),
        ("x.csv", "k,v\na,1\n", ("--key", "id"), ("no column 'id'", "k, v")),
        ("x.csv", "k,v\na,1\n", ("--value", "id"), ("no column 'id'",)),
        ("x.csv", "k,k\na,1\n", (), ("line 1", "twice")),
        ("x.csv", 'k,v\na,"1"x\n', (), ("line 2", "not CSV")),
        ("x.csv", b"k,v\na,\xff\n", (), ("line 2", "not UTF-8")),
        ("x.csv", "k,v\nxyz,61\n", ("--bytes", "hex"), ("line 2, 'k'", "--bytes hex")),
        ("x.csv", "k,v\n\\q,61\n", ("--bytes", "escape"), ("line 2", "backslash")),
        ("x.txt", "k,v\n", (), ("--format", "jsonl")),
        ("x.csv", "k,v\n", ("--delimiter", ";;"), ("one character",)),
        ("x.jsonl", "{}\n", ("--delimiter", ";"), ("for CSV only",)),
        ("x.csv", None, (), ("cannot read", "No such file")),
        ("x.csv", "k,v\n", ("--max-bytes", 10**26), ("--max-bytes",)),
        ("x.csv", "k,v\na,1\n", ("--map", "\udcff"), ("--map '\\udcff' is not UTF-8",)),
        (
            "x.jsonl",
            '{"key": "a", "value": "1"}\n{"key": "b", "value": "", "holdfast.map": "\\ud800"}\n',
            (),
            ("line 2", "holdfast.map that is no text", "the 1 entries"),
        ),
    ],
)
def test_load_names_the_wrong_line_and_the_remedy(
    db, rows, tmp_path, name, content, arguments, expected
):
    source = rows(name, content) if content is not None else tmp_path / name
    result = db("load", source, *arguments, status=2)
    told = " ".join(result.stderr.split())
    for words in expected:
        assert words in told


def test_load_reads_in_batches_and_reports_in_json(db, rows, path):
    lines = "".join(
        json.dumps({"key": f"{i:05}", "value": "v" * (i % 50)}) + "\n" for i in range(2500)
    )
    result = db("load", rows("x.jsonl", lines), "--json", "-")
    assert json.loads(result.stdout) == {"path": str(path), "entries": 2500}
    assert len(contents(path)) == 2500


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl"])
@pytest.mark.parametrize("coding", ["escape", "hex", "base64"])
def test_load_reads_the_output_of_dump(db, invoke, path, tmp_path, form, coding):
    chance = random.Random(3)
    alphabet = b'\0\n\r\t\\,"x\x7f\xe2\x82\xac\xff'
    kept = {
        bytes(chance.choices(alphabet, k=i % 9)): bytes(chance.choices(alphabet, k=i % 7))
        for i in range(150)
    }
    with holdfast.open(path, domain="process") as database:
        database.update(kept)
    target = tmp_path / f"out.{form}"
    db("dump", target, "--bytes", coding)
    copy = tmp_path / "copy.db"
    assert (
        invoke("db", "load", copy, target, "--bytes", coding, "--domain", "process").exit_code == 0
    )
    assert contents(copy) == kept


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl"])
def test_dump_keeps_carriage_returns(db, invoke, path, tmp_path, form):
    kept = {b"end": b"1\r", b"middle": b"1\r2", b"line\r": b"1\r\n2", b"\rkey": b"", b"\r": b"\r\r"}
    with holdfast.open(path, domain="process") as database:
        database.update(kept)
    target, copy = tmp_path / f"out.{form}", tmp_path / "copy.db"
    db("dump", target)
    assert invoke("db", "load", copy, target, "--domain", "process").exit_code == 0
    assert contents(copy) == kept


def test_dump_replaces_no_heap_file(db, command, path, tmp_path):
    db("put", "a", "1")
    other, link = tmp_path / "other.db", tmp_path / "link.jsonl"
    with holdfast.open(other, domain="process") as database:
        database["b"] = b"2"
    link.symlink_to(path)
    for target, told in ((path, "itself"), (link, "itself"), (other, "heap file")):
        assert told in command("db", "dump", path, target, status=2).stderr
    for verb in (("scan", path), ("stats", path)):
        assert "heap file" in command("db", *verb, "--json", other, status=2).stderr
    assert contents(path) == {b"a": b"1"} and contents(other) == {b"b": b"2"}
    damaged = bytearray(path.read_bytes())
    damaged[:8] = bytes(8)  # the second superblock is as good
    path.write_bytes(damaged)
    assert "itself" in command("db", "dump", path, path, status=2).stderr
    assert path.read_bytes() == damaged


def test_a_dump_that_fails_keeps_the_earlier_one(db, path, tmp_path):
    target, link = tmp_path / "out.jsonl", tmp_path / "link.jsonl"
    with holdfast.open(path, domain="process") as database:
        database.update({"a": b"1", "b": b"\xff"})
    db("dump", target, status=2)
    assert not target.exists()
    target.write_text("earlier")
    target.chmod(0o640)
    link.symlink_to(target)
    db("dump", target, status=2)
    assert target.read_text() == "earlier"
    db("dump", link, "--bytes", "hex")
    assert link.is_symlink() and target.stat().st_mode & 0o777 == 0o640
    assert target.read_text().startswith('{"key": "61"')
    assert sorted(tmp_path.iterdir()) == sorted([path, target, link])


def test_dump_of_bytes_that_are_no_text_names_the_option(db, path):
    with holdfast.open(path, domain="process") as database:
        database["ok"] = b"\xff"
    assert "--bytes escape" in db("dump", status=2).stderr
    assert db("dump", "--bytes", "base64").stdout == '{"key": "b2s=", "value": "/w=="}\n'
    assert db("dump", "--bytes", "hex", "--format", "csv").stdout == "key,value\n6f6b,ff\n"


@pytest.mark.parametrize(
    ("head", "remedy"), [("k;v", "--delimiter ';'"), ("k\tv", "--delimiter tab"), ("k|v", "'|'")]
)
def test_load_warns_of_a_table_with_another_delimiter(db, rows, path, head, remedy):
    told = db("load", rows("x.csv", f"{head}\na{head[1]}1\n")).stderr
    assert "warning" in told and "one column" in told and remedy in told
    assert "warning" not in db("load", rows("y.csv", "k,v\na;b,1\n")).stderr
    assert "warning" not in db("load", rows("z.csv", "k\na;b\n")).stderr


def test_load_into_a_full_database_says_how_much_it_has_put(db, rows):
    table = rows("x.csv", "k,v\n" + "".join(f"{i:05},{'x' * 1000}\n" for i in range(3000)))
    told = db("load", table, "--max-bytes", 2 << 20, status=3).stderr
    entries = json.loads(db("stats", "--json", "-").stdout)["entries"]
    assert entries > 0 and f"{entries:,} entries have been loaded" in " ".join(told.split())


def test_a_wrong_row_behind_a_full_database_tells_both(db, rows):
    # The rows before the wrong one are written when it is met, and do not fit.
    table = rows("x.csv", "k,v\n" + "".join(f"{i:03},{'x' * 30000}\n" for i in range(65)) + "a\n")
    told = db("load", table, "--max-bytes", 2 << 20, status=3).stderr
    assert "35 entries have been loaded" in " ".join(told.split())


def test_load_makes_the_database_as_told(db, invoke, rows, path):
    table = rows("x.csv", "k,v\na,1\n")
    most = 64 << 20
    db("load", table, "--engine", sample.FIRST, "--max-bytes", most)
    facts = json.loads(db("stats", "--json", "-").stdout)
    assert facts["engine"] == sample.FIRST and facts["capacity_bytes"] == most
    db("load", table, "--engine", sample.FIRST, "--max-bytes", most)
    told = " ".join(db("load", table, "--engine", sample.REPLAYED, status=2).stderr.split())
    assert f"has engine {sample.FIRST}, not {sample.REPLAYED}" in told and "convert" in told
    told = " ".join(db("load", table, "--max-bytes", most // 2, status=2).stderr.split())
    assert f"has max_bytes={most}" in told and "convert --max-bytes" in told
    db("load", table, "--max-bytes", 2 * most)
    new = invoke("db", "load", path.with_name("new.db"), table, "--engine", "nonsense")
    assert new.exit_code == 2 and "nonsense" in new.stderr
    assert not path.with_name("new.db").exists()


def test_a_journal_is_made_told_and_converted(invoke, rows, path):
    def run(*arguments, status=0):
        result = invoke(*arguments)
        assert result.exit_code == status, result.output
        return result

    table, size = rows("x.csv", "k,v\na,1\n"), 128 << 10
    run("db", "load", path, table, "--domain", "file", "--journal-bytes", size)
    run("db", "load", path, table, "--domain", "file")
    assert json.loads(run("info", path, "--json", "-").stdout)["journal_bytes"] == size
    pages = json.loads(run("info", path, "--json", "-").stdout)["checksummed_pages"]
    assert 0 < json.loads(run("check", path, "--json", "-").stdout)["verified_pages"] <= pages
    facts = json.loads(run("db", "stats", path, "--json", "-").stdout)
    assert 0 < facts["journal_bytes"] < size and facts["journal_held_bytes"] == 0
    told = run("db", "load", path, table, "--journal-bytes", 2 * size, status=2).stderr
    assert f"has journal_bytes={size}" in " ".join(told.split())
    for given, made in ((), size), (("--journal-bytes", 2 * size), 2 * size):
        new = path.with_name(f"{made}.db")
        run("convert", path, new, *given)
        assert json.loads(run("info", new, "--json", "-").stdout)["journal_bytes"] == made
        assert contents(new) == {b"a": b"1"}
    new = path.with_name("none.db")
    run("convert", path, new, "--journal-bytes", 0)
    assert json.loads(run("info", new, "--json", "-").stdout)["journal_bytes"] == 0
    other = path.with_name("other.db")
    told = run("convert", path, other, "--engine", sample.REPLAYED, "--journal-bytes", size,
               status=2)  # fmt: skip
    assert "journal_bytes=0" in " ".join(told.stderr.split())
    other.unlink(missing_ok=True)
    run("convert", path, other, "--engine", sample.REPLAYED)
    assert json.loads(run("info", other, "--json", "-").stdout)["journal_bytes"] == 0


def test_dump_writes_json_lines_to_any_other_name(db, path, tmp_path):
    db("put", "a", "1")
    for name in ("out.txt", "out", "out.csv.gz"):
        db("dump", tmp_path / name)
        assert (tmp_path / name).read_text() == '{"key": "a", "value": "1"}\n'


def test_single_entries(db, path):
    db("put", "a", "1")
    db("put", "00", "ff", "--bytes", "hex")
    assert contents(path) == {b"a": b"1", b"\0": b"\xff"}
    assert db("get", "a").stdout == "1\n"
    assert db("get", "00", "--bytes", "hex").stdout == "ff\n"
    assert db("get", "AA==", "--bytes", "base64").stdout == "/w==\n"
    assert "no key b" in db("get", "b", status=1).stderr
    db("delete", "a")
    assert "no key a" in db("delete", "a", status=1).stderr
    assert contents(path) == {b"\0": b"\xff"}


def test_a_domain_that_the_file_lacks_needs_force(invoke, rows, path):
    table = rows("x.csv", "k,v\na,1\n")
    for verb in (("put", path, "b", "2"), ("load", path, table), ("delete", path, "b")):
        refused = invoke("db", *verb, "--domain", "pmem")
        assert refused.exit_code == 2 and "force" in refused.stderr
        assert invoke("db", *verb, "--domain", "pmem", "--force").exit_code == 0
    assert contents(path) == {b"a": b"1"}


def test_scan_lists_ranges_in_order(db, path):
    with holdfast.open(path, domain="process") as database:
        database.update({"a": "1", "b1": "2", "b2": "tab\t", "c": b"\xff"})
    assert db("scan").stdout == "a\t1\nb1\t2\nb2\ttab\\t\nc\t\\xff\n"
    assert db("scan", "--prefix", "b", "--keys").stdout == "b1\nb2\n"
    assert (
        db("scan", "--start", "b", "--stop", "c", "--reverse", "--limit", "1", "--keys").stdout
        == "b2\n"
    )
    assert json.loads(db("scan", "--limit", "1", "--json", "-").stdout) == [
        {"key": "a", "value": "1"}
    ]
    assert "stands alone" in db("scan", "--prefix", "b", "--stop", "c", status=2).stderr


def test_stats_verify_and_backup(db, invoke, path, tmp_path):
    db("put", "a", "1")
    facts = json.loads(db("stats", "--json", "-").stdout)
    assert facts["entries"] == 1 and facts["engine"] == "romulus-log"
    assert facts["domain"] in ("file", "pmem", "eadr")
    assert "# TYPE holdfast_db_updates_total counter" in db("stats", "--prometheus").stdout
    assert "in order" in db("verify").stdout
    for verb in ("check", "dump"):
        report = json.loads(invoke(verb, path, "--json", "-").stdout)
        assert report["ok"] and [root["check"] for root in report["roots"]] == ["ok"]
    copy = tmp_path / "copy.db"
    db("backup", copy)
    assert contents(copy) == {b"a": b"1"}
    assert "exists already" in db("backup", copy, status=2).stderr
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)
    assert "short" in db("verify", status=1).stderr


def test_a_damaged_page_is_one_problem(invoke, path):
    with holdfast.open(path, journal_bytes=1 << 20) as database:
        database["key"] = b"value" * 100
    damaged = path.read_bytes().replace(b"value" * 100, b"other" * 100)
    path.write_bytes(damaged)
    for verb, status in (("check", 1), ("dump", 0)):
        result = invoke(verb, path, "--json", "-")
        assert result.exit_code == status
        (problem,) = json.loads(result.stdout)["problems"]
        assert "differs from its checksum" in problem


def test_a_converted_database_keeps_its_content_and_works(db, invoke, path):
    """A copy has the size classes of its source, whatever its engine."""
    entries = {b"key %d" % i: b"x" * (i % 100) for i in range(500)}
    with holdfast.open(path, engine=sample.FIRST, domain="process") as database:
        database.update(entries)
    target = path.with_name("converted.db")
    assert invoke("convert", path, target, "--engine", sample.REPLAYED).exit_code == 0
    with holdfast.open(target, domain="process", verify=True) as database:
        assert dict(database) == entries
        database.update({key: b"y" * 30 for key in entries})
        database.verify()
    assert invoke("check", target).exit_code == 0


def test_compaction_gives_space_back(db, path):
    with holdfast.open(path, domain="process") as database:
        database.write((f"{i:06}", bytes(200)) for i in range(5000))
        database.clear()
    before = json.loads(db("stats", "--json", "-").stdout)
    assert before["used_bytes"] + before["free_bytes"] == before["data_bytes"]
    returned = json.loads(db("compact", "--json", "-").stdout)["returned_bytes"]
    after = json.loads(db("stats", "--json", "-").stdout)
    assert returned > 5000 * 200
    assert before["disk_bytes"] - after["disk_bytes"] > 5000 * 200
    assert "in order" in db("verify").stdout


def test_files_that_cannot_be_used(db, path):
    verbs = ("delete", "k"), ("scan",), ("stats",), ("compact",), ("verify",), ("dump",)
    for verb in (("get", "k"), *verbs):
        assert "does not exist" in db(*verb, status=2).stderr
    assert not path.exists()
    with holdfast.open(path, domain="process"):
        assert "in use" in db("get", "k", status=2).stderr
        assert "in use" in db("put", "k", "v", status=2).stderr
    path.write_bytes(b"something else" * 1000)
    assert "test.db" in db("scan", status=1).stderr.replace("\n", "")


def test_wrong_arguments_are_bad_usage(db, path):
    assert "--bytes escape" in db("put", "\udcff", "v", status=2).stderr
    db("put", "a", "1")
    for verb in (("get", "a"), ("put", "a", "1"), ("delete", "a"), ("scan",), ("dump",)):
        assert r"'\udcff' is not UTF-8" in db(*verb, "--map", "\udcff", status=2).stderr
    assert "--limit" in db("scan", "--limit", 10**23, status=2).stderr
    assert db("scan", "--limit", 2**63 - 1).stdout == "a\t1\n"


def test_a_full_output_is_one_message(command, path):
    with holdfast.open(path, domain="process") as database:
        database.update({f"{i:05}": b"x" * 100 for i in range(1000)})
    for verb in (("get", path, "00000"), ("scan", path), ("dump", path), ("stats", path)):
        line = [sys.executable, "-m", "holdfast", "db", *verb]
        with open("/dev/full", "w") as full:
            done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert (done.returncode, done.stderr) == (3, "error: No space left on device\n"), verb
    said = command("db", "dump", path, "/dev/full", status=3).stderr
    assert said == "error: cannot write /dev/full: No space left on device\n"
    assert command("db", "dump", path, "/dev/stdout").stdout.count("\n") == 1000


def test_the_real_command(command, tmp_path):
    command("db", "put", "real.db", "a", "1")
    assert command("db", "get", "real.db", "a").stdout == "1\n"
