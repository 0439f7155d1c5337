"""Faults: what every tool says when something is wrong, side by side; ours is asserted."""

from concurrent.futures import ThreadPoolExecutor

from common import holders, tried
from measure.reaction import PEERS, Lab, gua
from measure.trouble import TROUBLES

TITLE = "Reactions to trouble"
NOTE = (
    "Each tool on the same machine of two cards, of which the first is in trouble. Quotes are out "
    "of what it printed in this run; of the recorders, what their reports make of three ticks."
)
HEADER = ("trouble", "who", "says")
# Nothing is timed here, so several may run at once.
AT_ONCE = 4


def folder_name(text):
    return text.replace(" ", "-")


def reaction(setting, trouble, who, machine):
    """The quote of a peer. One that cannot be had is told in its place."""
    lab = Lab(setting.folder / "faults" / folder_name(trouble.name) / folder_name(who), machine)
    try:
        return PEERS[who](lab, setting), None
    except Exception as why:  # noqa: BLE001 the other reactions are still worth having
        return f"not measured: {why}", f"{trouble.name}: the reaction of {who} was not had: {why}"


def our_reaction(setting, trouble, machine):
    """Our quote, and what is wrong with the reaction."""
    lab = Lab(setting.folder / "faults" / folder_name(trouble.name) / "ours", machine)
    try:
        answered, quote = gua(lab)
        right = trouble.is_right(answered)
    except Exception as why:  # noqa: BLE001 whatever it is, ours did not do what it should
        return f"not measured: {why!r}", f"{trouble.name}: ours failed: {why!r}"
    if right:
        return f"{quote} ({trouble.expected}: holds)", None
    return quote, f"{trouble.name}: ours should say: {trouble.expected}; it says {quote}"


def reactions(setting, pids):
    """One line for each trouble and tool, in order, with what is wrong."""
    for venv in ("peers", "gua", "gpu-tracker"):
        # Before many ask for it at once. One that cannot be had is told at each reaction.
        tried(setting.venv, venv)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        started = []
        for trouble in TROUBLES:
            machine = trouble.machine(pids)
            mine = pool.submit(our_reaction, setting, trouble, machine)
            started.append((trouble.name, "gua", mine))
            for who in PEERS:
                job = pool.submit(reaction, setting, trouble, who, machine)
                started.append((trouble.name, who, job))
        for trouble_name, who, job in started:
            yield trouble_name, who, *job.result()


def found(setting):
    """The lines of the table, each with what is not as it should be."""
    with holders(3) as pids:
        yield from reactions(setting, pids)
