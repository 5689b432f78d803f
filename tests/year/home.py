"""The home: three lists in three zones, as the operator may edit them, and mails that are quickly drawn."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from zoneinfo import ZoneInfo

from paperboy.models import Paper

OPERATOR = "ops@example.org"
OPERATORS_ZONE = ZoneInfo("Europe/Berlin")

_WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True)
class Reading:
    """A list, as `subscribers.yaml` has it at some time."""

    name: str
    categories: tuple[str, ...]
    zone: ZoneInfo
    send_at: time
    subscribers: tuple[str, ...]
    weekdays: tuple[str, ...] = _WEEK
    send_empty: bool = True

    @property
    def topics(self) -> str:
        """By these the LLM's records tell whom a request was for."""
        return f"Relevant: what the readers of {self.name} like."

    def wants(self, paper: Paper) -> bool:
        """Whether the paper is in its categories."""
        return not set(self.categories).isdisjoint(paper.categories)

    def sends_on(self, day: date) -> bool:
        """Whether that is one of its weekdays."""
        return _WEEK[day.weekday()] in self.weekdays

    def starts(self, day: date) -> datetime:
        """Its hour on a local date."""
        return datetime.combine(day, self.send_at, self.zone).astimezone(UTC)

    def midnight(self, day: date) -> datetime:
        """When a local date begins."""
        return datetime.combine(day, time(), self.zone).astimezone(UTC)

    def local(self, instant: datetime) -> date:
        """Its date."""
        return instant.astimezone(self.zone).date()


LISTS = (
    Reading(
        "foundations",
        ("cs.LG", "stat.ML"),
        ZoneInfo("Europe/Berlin"),
        time(7),
        ("ada@example.org", "grace@example.org", "edsger@example.org"),
    ),
    Reading(
        "language",
        ("cs.CL", "cs.LG"),
        ZoneInfo("America/Los_Angeles"),
        time(6, 30),
        ("noam@example.org", "ada@example.org"),
        weekdays=("mon", "wed", "fri"),
    ),
    Reading(
        "vision",
        ("cs.CV", "cs.LG"),
        ZoneInfo("Asia/Tokyo"),
        time(22, 30),
        ("hubel@example.org", "wiesel@example.org", "margaret@example.org"),
        send_empty=False,
    ),
)


def file_of(lists: Iterable[Reading], *, broken: bool = False) -> str:
    """`subscribers.yaml`."""
    text = "lists:\n"
    for each in lists:
        text += (
            f"  - name: {each.name}\n    categories: [{', '.join(each.categories)}]\n    topics: '{each.topics}'\n"
            f"    timezone: {each.zone.key}\n    send_at: '{each.send_at:%H:%M}'\n"
            f"    weekdays: [{', '.join(each.weekdays)}]\n    send_empty: {str(each.send_empty).lower()}\n"
            f"    subscribers: [{', '.join(each.subscribers)}]\n"
        )
    return text + ("    oops: 1\n" if broken else "")


_BODY = "<mjml><mj-body><mj-section><mj-column><mj-text>{}</mj-text></mj-column></mj-section></mj-body></mjml>\n"
_PAPERS = "{% for item in page.items %}<p>{{ item.url }}</p>{% endfor %}"
_LEAVE = "<p>{{ page.copy.address }}</p><p>{{ page.unsubscribe_url }}</p>"
_TEXT = "{% for item in page.items %}\n{{ item.url }}\n{% endfor %}\n"
_LEAVE_TEXT = "{{ page.copy.address }}\n{{ page.unsubscribe_subject }}\n"
EMAILS = {
    "digest.mjml.j2": _BODY.format(_PAPERS + _LEAVE),
    "digest.txt.j2": _TEXT + _LEAVE_TEXT,
    "note.mjml.j2": _BODY.format(_LEAVE),
    "note.txt.j2": _LEAVE_TEXT,
    "alert.mjml.j2": _BODY.format("{{ alert.headline }}"),
    "alert.txt.j2": "{{ alert.headline }}\n"
    + _TEXT.replace("page.items", "alert.paragraphs + alert.details").replace("item.url", "item"),
    **{f"_{part}.mjml.j2": "" for part in ("end", "entry", "head", "masthead", "preheader")},
    **{f"_{part}.j2": "" for part in ("end.txt", "masthead.txt", "palette")},
}
"""Templates that show what mails must, and each paper's address."""
