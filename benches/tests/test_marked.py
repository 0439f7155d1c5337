"""The place of a document that is filled in."""

import pytest

from marked import BEGIN, END, NoPlace, filled


def test_only_what_is_between_the_marks_changes():
    document = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    once = filled(document, "new\n")
    assert once == f"before\n{BEGIN}\nnew\n{END}\nafter\n"
    assert filled(once, "new") == once


@pytest.mark.parametrize("document", ["", BEGIN, END, f"{END}{BEGIN}", f"{BEGIN}{BEGIN}{END}"])
def test_a_document_without_one_such_place_is_refused(document):
    with pytest.raises(NoPlace):
        filled(document, "new")
