"""The cards, who holds them, which to use, and GPUtil's names."""

import json
import re
import sys

import pytest

from conftest import CARD, PROGRAMS, SECOND

# Names may be anybody's: HTML, escape codes.
EVIL = "<img src=x>\\u001b[2J"
LAB = (
    CARD
    + SECOND
    + '[[card]]\nuuid = "GPU-cccc"\nname = "NVIDIA A100"\nmemory = "16GiB"\n'
    + '[[process]]\npid = 4711\ncard = 0\nmemory = "4GiB"\nuser = "alice"\n'
    + f'program = "{EVIL}"\nsm = 30\nbegin = "-1h"\n'
    + '[[process]]\npid = 4712\ncard = 1\nmemory = "unknown"\nuser = "bob"\n'
    + '[[fault]]\ncall = "nvmlDevice*"\ncard = 2\ncode = "GPU_IS_LOST"\n'
)


def test_cards_are_what_the_program_tells(lab):
    script = lab.script(
        """
        import dataclasses, gua, json
        cards = gua.gpus()
        told = [dataclasses.asdict(card) for card in cards]
        for card in told:
            for holder in card['holders']:
                del holder['card_index'], holder['card_uuid']
        print(json.dumps([cards.driver_version, told], default=str))
        """
    )
    done = lab.run(LAB, sys.executable, script)
    assert done.returncode == 0, done.stderr
    version, cards = json.loads(done.stdout)
    done = lab.run(LAB, PROGRAMS / "gua", "stat", "--json")
    theirs = json.loads(done.stdout)
    assert version == theirs["driver_version"]
    assert len(cards) == len(theirs["cards"]) == 3
    moves = {"started", "start_ticks", "running_seconds", "energy_joules", "power_watts"}
    moves.add("utilization_covers_seconds")
    for ours, other in zip(cards, theirs["cards"]):
        check_names(ours, other)
        for key in set(other) - {"holders"} - moves:
            assert ours[key] == other[key], key
        for our_holder, holder in zip(ours["holders"], other["holders"]):
            check_names(our_holder, holder)
            for key in set(holder) - moves:
                assert our_holder[key] == holder[key], key


def check_names(ours, theirs):
    """Every name of the JSON is a field. The JSON leaves out only what is None."""
    assert set(theirs) <= set(ours)
    assert all(ours[key] is None for key in set(ours) - set(theirs))


def test_what_is_not_known_is_none(lab):
    lab.python(
        """
        import gua
        cards = gua.gpus()
        assert cards[2].state == 'unknown' and cards[2].state_reason
        assert cards[2].memory_used_bytes is None and cards[2].utilization_percent is None
        assert cards[2].unknown['memory_used_bytes'] == 'lost'
        holder, = cards[1].holders
        assert holder.memory_bytes is None and holder.unknown['memory_bytes']
        assert holder.command is None
        assert [holder.pid for holder in gua.processes()] == [4711, 4712]
        assert [holder.card_index for holder in gua.processes(ids=[1])] == [1]
        assert gua.gpus(0)[0].uuid == gua.gpus('GPU-aaaa')[0].uuid
        started = gua.processes()[0].started
        assert started.tzinfo is not None
        import pytest
        with pytest.raises(ValueError, match='there is no card `9` here'):
            gua.gpus(9)
        """,
        LAB,
    )


def test_pages_escape_what_others_call_themselves(lab):
    text = lab.json(
        """
        import gua, json
        print(json.dumps([gua.gpus()._repr_html_(), gua.processes()._repr_html_(), gua.gpus()[0]._repr_html_()]))
        """,
        LAB,
    )
    for html in text:
        assert "&lt;img src=x&gt;?[2J" in html
        assert "<img" not in html and "\x1b" not in html
    assert "unknown (lost)" in text[0]
    assert text[0].count("<svg") == 2  # none for the card that is not known


def test_tables_for_pandas(lab):
    pytest.importorskip("pandas")
    lab.python(
        """
        import gua
        frame = gua.gpus().to_frame()
        assert list(frame['uuid'][:2]) == ['GPU-aaaa', 'GPU-bbbb']
        assert list(frame['holders'][0]) == [4711]
        assert list(gua.processes().to_frame()['pid']) == [4711, 4712]
        """,
        LAB,
    )


def test_without_a_driver_it_says_so(lab):
    lab.python(
        """
        import gua, pytest
        for ask in (gua.gpus, gua.processes, gua.pick):
            with pytest.raises(gua.NoDriver, match='cannot read the driver') as told:
                ask()
            assert isinstance(told.value, gua.GuaError) and isinstance(told.value, RuntimeError)
        # Without a driver there are no cards, which scripts of GPUtil rely on.
        assert gua.gputil.getGPUs() == []
        assert gua.gputil.getAvailable() == []
        with pytest.raises(RuntimeError, match='Could not find an available GPU after 2 attempts'):
            gua.gputil.getFirstAvailable(attempts=2, interval=0)
        """,
        None,
        GUA_NVML="libno-such-driver.so.1",
    )


def test_pick(lab):
    lab.python(
        """
        import gua, os, pytest
        free = gua.pick()
        assert free.indices == [1] and free.uuids == ['GPU-bbbb']
        assert free.reserved_until > free.time
        # One's own reservation does not refuse the next one, unless it waits for a card to become free.
        assert gua.pick().indices == [1]
        with pytest.raises(gua.NotEnoughCards) as told:
            gua.pick(wait=0.05)
        assert 'card 1: reserved' in str(told.value), str(told.value)
        assert not told.value.pick.enough and told.value.pick.chosen == []
        with pytest.raises(gua.NotEnoughCards, match='of 9 cards can be had'):
            gua.pick(9, wait=True)
        with pytest.raises(ValueError, match='`120` is no max_util'):
            gua.pick(max_util=120)
        with pytest.raises(ValueError, match='`soon` is no length of time: expected'):
            gua.pick(wait='soon')
        shared = gua.pick(min_free='1GB', max_util=50, reserve=None, ids=[0])
        assert shared.indices == [0] and shared.reserved_until is None
        gua.pick(min_free=10**9, max_util=50, reserve=None, ids=[0], export=True)
        assert os.environ['CUDA_VISIBLE_DEVICES'] == 'GPU-aaaa'
        # What this process may see is what there is to choose from, unless one looks beyond.
        with pytest.raises(gua.NotEnoughCards):
            gua.pick(2, min_free='1GB', max_util=50, reserve=None)
        with pytest.raises(gua.NotEnoughCards, match='card 1: reserved'):
            gua.pick(2, min_free='1GB', max_util=50, reserve=None, all_cards=True, wait=0.05)
        """,
        CARD + SECOND + '[[process]]\npid = 4711\ncard = 0\nmemory = "4GiB"\n',
    )


def test_waiting_for_a_card(lab):
    lab.python(
        """
        import gua, threading
        from pretend import hold
        hold(4000, pid=4711, card=0)
        threading.Timer(0.5, hold, (0,), {'pid': 4711}).start()
        assert gua.pick(reserve=None, max_util=99, wait='100s').indices == [0]
        """,
        '[[card]]\nuuid = "GPU-aaaa"\nmemory = "16GiB"\n',
    )


def test_gputils_names(lab):
    lab.python(
        """
        import gua.gputil as GPUtil
        first, second, lost = GPUtil.getGPUs()
        assert (first.id, first.uuid, first.name) == (0, 'GPU-aaaa', 'NVIDIA A100')
        assert first.load == 0.4 and first.memoryTotal == 16384
        assert abs(first.memoryUtil - first.memoryUsed / 16384) < 1e-9
        assert first.memoryUsed + first.memoryFree <= 16384
        assert first.driver and first.temperature is not None
        for name in ('load', 'memoryUtil', 'memoryUsed', 'memoryFree', 'temperature'):
            assert getattr(lost, name) is None, name
        # The line of the tutorial that names it.
        print("GPU RAM Free: {0:.0f}MB | Used: {1:.0f}MB | Util {2:3.0f}% | Total {3:.0f}MB".format(
            first.memoryFree, first.memoryUsed, first.memoryUtil*100, first.memoryTotal))
        assert GPUtil.getAvailable() == [0]
        assert GPUtil.getAvailable(order='last', limit=5) == [1, 0]
        assert GPUtil.getAvailable(order='load', limit=5) == [1, 0]
        assert sorted(GPUtil.getAvailable(order='random', limit=5)) == [0, 1]
        assert GPUtil.getAvailable(order='memory', limit=5, maxMemory=0.1) == [1]
        assert GPUtil.getAvailable(limit=5, maxLoad=0.1) == [1]
        assert GPUtil.getAvailable(limit=5, memoryFree=13000) == [1]
        assert GPUtil.getAvailable(limit=5, excludeID=[1], excludeUUID=['GPU-aaaa']) == []
        assert GPUtil.getAvailable(limit=5, includeNan=True) == [0, 1, 2]
        assert GPUtil.getAvailability(GPUtil.getGPUs()) == [1, 1, 0]
        assert GPUtil.getFirstAvailable(order='last', verbose=True) == [1]
        import pytest
        with pytest.raises(ValueError, match="'best' is no order"):
            GPUtil.getAvailable(order='best')
        GPUtil.showUtilization()
        GPUtil.showUtilization(all=True)
        """,
        LAB,
    )


def test_the_table_of_gputil(lab):
    text = lab.python("import gua.gputil as g\ng.showUtilization()\ng.showUtilization(all=True)", LAB)
    lines = text.splitlines()
    assert lines[:5] == [
        "| ID |     GPU |     MEM |",
        "--------------------------",
        "|  0 |     40% |     25% |",
        "|  1 |      0% |      0% |",
        "|  2 | unknown | unknown |",
    ]
    assert re.match(r"\| ID \|\s+Name \|\s+Serial \|", lines[5])
    assert len({len(line) for line in lines[5:]}) == 1


def test_too_few_cards_are_told_also_across_processes(lab):
    lab.python(
        """
        import concurrent.futures, copy, gua, multiprocessing, pickle, pytest

        def ask(_):
            return gua.pick(9, reserve=None)

        if __name__ == '__main__':
            said = ['1 of 9 cards can be had', 'card 0: busy: 40 % now', 'card 1: would do']
            with pytest.raises(gua.NotEnoughCards) as raised:
                ask(1)
            assert str(raised.value).splitlines() == said, str(raised.value)
            for copied in (copy.copy(raised.value), pickle.loads(pickle.dumps(raised.value))):
                assert str(copied).splitlines() == said and copied.pick == raised.value.pick
            with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context('spawn')) as pool:
                with pytest.raises(gua.NotEnoughCards, match='1 of 9'):
                    pool.submit(ask, 1).result()
        """,
        CARD + SECOND,
    )


def test_arguments_are_taken_as_meant_or_refused_in_words_of_python(lab):
    lab.python(
        """
        import gua, pytest
        with pytest.raises(ValueError) as raised:
            gua.gpus(-1)
        assert str(raised.value).startswith('there is no card `-1` here'), raised.value
        with pytest.raises(ValueError, match='ids names no card'):
            gua.gpus([])
        assert gua.pick(min_free=1e9, max_util=100, reserve=False).reserved_until is None
        assert gua.pick(reserve=True, max_util=100).reserved_until is not None
        for one in ('over', 'wait'):
            with pytest.raises(ValueError, match='`1 h` is no '):
                gua.pick(9, **{one: '1 h'})
        with pytest.raises(TypeError, match='a length of time is seconds'):
            gua.pick(over=[1])
        """,
        CARD + SECOND,
    )


def test_a_host_without_a_driver_is_told_of_in_words_of_python(lab):
    lab.python(
        """
        import gua, pytest
        with pytest.raises(gua.NoLibrary) as raised:
            gua.gpus()
        assert '--' not in str(raised.value) and 'GUA_NVML' in str(raised.value), raised.value
        """,
        None,
        GUA_NVML="libno-such-driver.so.1",
    )


MIG = """
[[card]]
utilization = 0
[[card.mig]]
slot = 0
profile = "3g.40gb"
memory = "40GiB"
[[card.mig]]
slot = 2
profile = "3g.40gb"
memory = "40GiB"
"""


def test_instances_of_a_card_have_names_of_their_own(lab):
    lab.python(
        """
        from gua import gputil
        names = [gpu.id for gpu in gputil.getGPUs()]
        assert names[0] == 0 and len(set(names)) == 3, names
        assert all(str(name).startswith('MIG-') for name in names[1:]), names
        assert gputil.getAvailable('last', 3, includeNan=True, maxLoad=2) == names[::-1]
        """,
        CARD + MIG,
    )


def test_tables_without_rows_have_columns(lab):
    pytest.importorskip("pandas")
    lab.python(
        """
        import gua
        assert 'pid' in gua.processes().to_frame() and len(gua.processes().to_frame()) == 0
        assert 'uuid' in gua.gpus().to_frame()
        """
    )
