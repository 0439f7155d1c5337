"""A year of a lab in a file as the daemon keeps it: made once, by whoever asks first."""

from common import ours, say
from measure.recorder import database_size

DAYS, RETAINED_DAYS = 365, 400


def year(setting):
    """A database with more than a year, pruned to what is kept by default."""
    made = setting.folder / "year.db"
    if not made.exists():
        say(f"making a demo of {RETAINED_DAYS} days")
        begun = setting.folder / "begun.db"
        # Of a try that failed.
        begun.unlink(missing_ok=True)
        ours("demo", "--days", str(RETAINED_DAYS), "--db", begun, env=setting.env)
        ours("db", "prune", "--yes", "--db", begun, env=setting.env)
        # Also puts everything that is in its log into the file itself.
        database_size(begun)
        begun.rename(made)
    return made
