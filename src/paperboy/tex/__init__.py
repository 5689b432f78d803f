r"""TeX, as titles, abstracts and names carry it, turned into Unicode text for readers.

`to_marked` gives text with marks around each superscript and subscript that Unicode cannot write,
for HTML; `plain` makes plain text of that. Nothing here raises, and no word is dropped: an unknown
macro stays without its backslash and empty braces, and text without TeX comes back as it went in.
`formulas` finds formulas, and `printing` names the macros that TeX itself may be given of a
stranger's text.

The symbols are pylatexenc's. The reading is our own, because pylatexenc takes `50% of users` for a
comment, drops the macros that it does not know, and has no superscripts.
"""

from paperboy.tex.macros import printing
from paperboy.tex.scripts import MARKS, SPACE, SUB, SUB_END, SUP, SUP_END, plain
from paperboy.tex.text import formulas, math_to_text, name_to_text, to_marked

__all__ = [
    "MARKS", "SPACE", "SUB", "SUB_END", "SUP", "SUP_END",
    "formulas", "math_to_text", "name_to_text", "plain", "printing", "to_marked",
]  # fmt: skip
