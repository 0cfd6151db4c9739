"""The same table in every engine, and a PostgreSQL server for as long as the tests run."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

#: Engines that need nothing but Python packages, those that open sockets, and those of `make test-engines`.
ENGINES = (
    "pandas",
    "polars",
    "pyarrow",
    "dask",
    "duckdb",
    "ibis",
    pytest.param("postgres", marks=pytest.mark.network),
    pytest.param("spark", marks=pytest.mark.spark),
)
_TYPES = {
    "bool": "boolean",
    "date32[day]": "date",
    "double": "double precision",
    "float": "real",
    "int64": "bigint",
    "int8": "smallint",
    "string": "text",
    "timestamp[us]": "timestamp",
}


@pytest.fixture(params=ENGINES)
def engine(request):
    """The name of each engine in turn."""
    return request.param


@pytest.fixture
def engine_table(request):
    """A function of an engine's name and an Arrow table that gives the same table in that engine."""
    with contextlib.ExitStack() as stack:

        def build(name, table):
            return _BUILDERS[name](table, request, stack)

        yield build


def _pandas(table, *_):
    return table.to_pandas()


def _polars(table, *_):
    import polars as pl

    return pl.from_arrow(table).lazy()


def _dask(table, *_):
    from dask import dataframe

    return dataframe.from_pandas(table.to_pandas(), npartitions=2)


def _duckdb(table, _, stack):
    import duckdb

    connection = stack.enter_context(duckdb.connect())
    connection.register("visits", table)
    return connection.sql("SELECT * FROM visits")


def _ibis(table, _, stack):
    import ibis

    backend = ibis.duckdb.connect()
    stack.callback(backend.disconnect)
    backend.con.register("visits", table)
    return backend.table("visits")


def _postgres(table, request, stack):
    import ibis

    address = request.getfixturevalue("postgres")
    name = fill_postgres(address, table)
    backend = ibis.connect(address)
    stack.callback(backend.disconnect)
    return backend.table(name)


def _spark(table, request, _):
    return request.getfixturevalue("spark").createDataFrame(table)


_BUILDERS = {
    "pandas": _pandas,
    "polars": _polars,
    "pyarrow": lambda table, *_: table,
    "dask": _dask,
    "duckdb": _duckdb,
    "ibis": _ibis,
    "postgres": _postgres,
    "spark": _spark,
}


def fill_postgres(address, table, name="visits"):
    """Put an Arrow table into a database, in place of one of the same name, and return that name."""
    import psycopg

    columns = ", ".join(f'"{field.name}" {_TYPES[str(field.type)]}' for field in table.schema)
    with psycopg.connect(address) as connection:
        connection.execute(f'DROP TABLE IF EXISTS "{name}"')
        connection.execute(f'CREATE TABLE "{name}" ({columns})')
        with connection.cursor().copy(f'COPY "{name}" FROM STDIN') as copy:
            for row in table.to_pylist():
                copy.write_row(tuple(row.values()))
    return name


@pytest.fixture
def filled_postgres(postgres):
    """Return a function that fills a table of the server, and the server's address."""
    return lambda table, name="visits": (postgres, fill_postgres(postgres, table, name))


@pytest.fixture(scope="session")
def postgres():
    """The address of a PostgreSQL server of our own, in a folder that goes with it."""
    binaries = _postgres_binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL server is installed (apt-get install postgresql)")
    pytest.importorskip("psycopg")
    folder = Path(tempfile.mkdtemp(prefix="hetdp-postgres-"))
    data, user = folder / "data", _server_user()
    if user is not None:  # a server refuses to run as root
        shutil.chown(folder, user)

    def call(program, *arguments):
        # No pipes: the server would keep them open.
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run([binaries / program, "-D", data, *arguments], user=user, cwd=folder, check=True, **quiet)

    call("initdb", "-A", "trust", "-U", "hetdp", "-N", "-E", "UTF8")
    options = f"-F -c listen_addresses= -c unix_socket_directories={folder}"
    call("pg_ctl", "-w", "-o", options, "-l", folder / "log", "start")
    try:
        yield f"postgresql://hetdp:no-secret@/postgres?host={folder}"
    finally:
        call("pg_ctl", "-w", "-m", "immediate", "stop")
        shutil.rmtree(folder)


def _postgres_binaries():
    """Return the folder of the newest server there is, or None."""
    on_path = shutil.which("initdb")
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name))
    folders += [Path(on_path).parent] if on_path else []
    return next((folder for folder in reversed(folders) if (folder / "initdb").exists()), None)


def _server_user():
    """Return as whom a server is to run: None for ourselves."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in names)


@pytest.fixture(scope="session")
def spark():
    """A Spark session on this machine alone."""
    sql = pytest.importorskip("pyspark.sql", reason="Spark is tested by `make test-engines`")
    session = (
        sql.SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
