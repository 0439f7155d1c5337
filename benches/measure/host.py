"""Other pretend hosts than the usual one: of more cards, or with other holders."""

import re

from common import SCENARIO, machine_of, scenario_with


def cards_with(cards, pids):
    """So many cards of the usual server's kind, with these holders spread over them."""
    head, *models = SCENARIO.read_text().split("[[process]]")[0].split("[[card]]")
    of_cards = "".join(f"[[card]]{models[place % len(models)]}" for place in range(cards))
    holder = '[[process]]\npid = {}\ncard = {}\nmemory = "300MiB"\nsm = {}\n'
    return (
        head
        + of_cards
        + "".join(holder.format(pid, place % cards, place % 3) for place, pid in enumerate(pids))
    )


def one_worker_per_card(pids):
    """The usual server, but of the holders of each card the first alone works."""
    head, *holders = scenario_with(pids).split("[[process]]")
    found, cards = [head], set()
    for holder in holders:
        card = re.search(r"^card = (\d+)$", holder, re.M)[1]
        idle = re.sub(r"^sm = \d+$", "sm = 0", holder, flags=re.M)
        found.append(idle if card in cards else holder)
        cards.add(card)
    return "[[process]]".join(found)


def installed(setting, name, scenario):
    """A folder of its own, and the environment in which programs see that host."""
    folder = setting.folder / name
    folder.mkdir()
    env = {**machine_of(folder, scenario), "HOME": str(folder), "GUA_HOME": str(folder)}
    return folder, env
