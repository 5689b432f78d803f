"""A daemon that cannot begin says so to the operator, though it has no database to remember by."""

from datetime import timedelta

import pytest

from paperboy.cli import last_words
from paperboy.config.home import Home
from tests.cli.conftest import World
from tests.cli.mail_world import OPERATOR, alerts, at_home, told


@pytest.fixture
def damaged(world: World) -> World:
    """A home whose database is none."""
    at_home(world, "ada@example.org")
    world.write("data/paperboy.db", "this is no database " * 99)
    return world


def test_it_is_told_once_a_day_and_exits_with_its_reason(damaged: World) -> None:
    for _ in range(3):
        ran = damaged.run("run")
        assert ran.code == 78
        assert "paperboy.db" in ran.err
    assert alerts(damaged) == ["Paperboy cannot work"]
    assert "this is no database" in told(damaged) or "the file is damaged" in told(damaged)
    damaged.clock.now += timedelta(days=1)
    damaged.run("run")
    assert len(alerts(damaged)) == 2


def test_that_it_has_begun_is_told_where_the_other_was(damaged: World) -> None:
    damaged.run("run")
    home = Home.load(damaged.path, {})
    assert last_words.forget(home)
    assert not last_words.forget(home)


def test_a_mail_server_that_is_down_changes_nothing(damaged: World) -> None:
    at_home(damaged, "ada@example.org", SMTP_PORT=9)
    ran = damaged.run("run")
    assert ran.code == 78
    assert "the operator could not be told" in ran.err
    at_home(damaged, "ada@example.org")
    damaged.run("run")
    assert damaged.mails() == [OPERATOR]


def test_without_an_operator_there_is_nobody_to_tell(damaged: World) -> None:
    damaged.env()
    assert damaged.run("run").code == 78
    assert damaged.mails() == []
