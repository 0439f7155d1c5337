"""What the Python gua's own report makes of a database, unrounded. Runs in its environment.

Its printed report rounds to whole percents, so its functions are asked instead. Who never shared a
card with others is found here."""

import json
import sqlite3
import sys
from datetime import datetime, timezone

from gpu_usage_audit import report

# Who held each card at each tick.
HOLDERS = """SELECT group_concat(DISTINCT coalesce(loginuid_user, 'unknown')) FROM proc_sample
    GROUP BY gpu_uuid, ts"""

database = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
ever = datetime(1970, 1, 1, tzinfo=timezone.utc)
headline = report.load_headline(database, ever)
capacity = report.load_idle_capacity(database, ever)
holders = [held.split(",") for (held,) in database.execute(HOLDERS)]
sharing = {who for held in holders if len(held) > 1 for who in held}
json.dump(
    {
        "samples": headline.samples,
        "shares": {
            "active": headline.active,
            "idle_held": headline.idle_held,
            "truly_idle": headline.truly_idle,
        },
        "gpu_hours": {
            "idle_held": capacity.idle_held_gpu_hours,
            "truly_idle": capacity.truly_idle_gpu_hours,
        },
        "cards": {
            card.uuid: {
                "active": card.active,
                "idle_held": card.idle_held,
                "truly_idle": card.truly_idle,
            }
            for card in report.load_per_gpu(database, ever)
        },
        "identities": {
            who.identity: {
                "gpu_hours": who.gpu_hours,
                "idle_held_gpu_hours": who.gpu_hours * who.idle_held,
                "is_alone": who.identity not in sharing,
            }
            for who in report.load_top_identities(database, ever)
        },
    },
    sys.stdout,
)
