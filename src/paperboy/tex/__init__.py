r"""TeX, as arXiv's titles, abstracts and names carry it, turned into Unicode text for readers.

`spans` splits a text into prose and formulas, `to_text` joins them again. Nothing here raises and nothing is dropped: a
macro that is not known stays as it was written, and text without TeX comes back as it went in.

The symbols are pylatexenc's. The reading is our own, because pylatexenc takes `50% of users` for a comment, drops the
macros that it does not know, and has no superscripts.
"""

from paperboy.tex.text import Span, math_to_text, name_to_text, spans, to_text

__all__ = ["Span", "math_to_text", "name_to_text", "spans", "to_text"]
