"""A place in a document between two marks, which a program fills in."""

BEGIN = "<!-- benches/compare: begin -->"
END = "<!-- benches/compare: end -->"


class NoPlace(Exception):
    """The document does not have exactly one such place."""


def filled(document, content):
    """The document with that content in its place."""
    if document.count(BEGIN) != 1 or document.count(END) != 1:
        raise NoPlace(f"expected one `{BEGIN}` and one `{END}` after it")
    before, _, rest = document.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise NoPlace(f"`{END}` stands before `{BEGIN}`")
    return f"{before}{BEGIN}\n{content.strip()}\n{END}{after}"
