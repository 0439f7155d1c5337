"""Which functions belong together, read from what callgrind and the compiler write down."""

from callgrind import calls_in
from functions import sections

PROFILE = """\
events: Ir
fn=(1) main
1 10
cfn=(2) _ZN3gua4tick17h0123456789abcdefE
calls=3 0
1 30
fn=(2)
1 30
cfn=(3) walk'2
calls=4 0
1 4
cfn=(2)
calls=2 0
1 4
fn=(4) thread
1 5
"""


def test_calls_are_added_up_and_a_name_is_told_once():
    assert calls_in(PROFILE) == {
        "main": 0,
        "_ZN3gua4tick17h0123456789abcdefE": 5,
        "walk": 4,
        "thread": 0,
    }


def test_a_hash_is_left_out_where_the_name_tells_enough():
    tick, sort, other = (
        "_ZN3gua4tick17h0123456789abcdefE",
        "_ZN4core4sort17h0123456789abcdefE",
        "_ZN4core4sort17hfedcba9876543210E",
    )
    clock = "_RNvMNtCs1x2Y3z_3std4timeNtB2_7Instant7elapsed"
    assert sections({tick, sort, other, clock, "sqlite3_step"}) == {
        tick: ".text._ZN3gua4tick17h*E",
        sort: f".text.{sort}",
        other: f".text.{other}",
        clock: ".text._RNvMNtCs*_3std4timeNtB2_7Instant7elapsed",
        "sqlite3_step": ".text.sqlite3_step",
    }
