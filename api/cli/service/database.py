"""`memplan database`: upgrade the tables of a database to this version, or print the SQL statements for that."""

from contextlib import closing

from memplan.api.cli.flags import STORE, Flag
from memplan.api.cli.help import SectionedGroup
from memplan.api.cli.streams import print_message, write_output
from memplan.planner.errors import OptionError

database = SectionedGroup("database", help="Bring the database of the service to this version.")


@database.command(params=[STORE, Flag("dry_run", is_flag=True, help="Print the statements, and change nothing.")])
def upgrade(store: str | None, dry_run: bool) -> None:
    """Make the tables, or upgrade the tables of an older memplan, as servers and workers do when they start."""
    from memplan.api.settings import read_settings
    from memplan.api.store.database import Database
    from memplan.api.store.errors import StoreError
    from memplan.api.store.migrations import upgrade_statements
    from memplan.api.store.schema import REVISION
    from memplan.api.store.store import upgrade_tables

    settings = read_settings(**({} if store is None else {"database_url": store}))
    try:
        with closing(Database.open(settings.database_url, settings.data_folder)) as opened:
            if dry_run:
                with opened.reading() as connection:
                    return write_output(None, upgrade_statements(connection).encode())
            before = upgrade_tables(opened)
    except StoreError as error:
        raise OptionError(f"store: {error}") from error
    what = "made" if before is None else "as they were" if before == REVISION else f"changed from revision {before}"
    print_message(f"memplan: the tables are of revision {REVISION}: {what}")
    return None
