"""`paperboy check` finds today what would fail tomorrow, and names the fix."""

import re
import ssl
from datetime import timedelta
from pathlib import Path

import pytest

from paperboy.service.check import network_fault
from tests.builders import paper
from tests.cli.conftest import LISTS, World
from tests.servers import arxiv_faults, biorxiv_faults, llm_faults
from tests.servers.biorxiv_api import BiorxivServer, preprint
from tests.servers.smtp import Fault, SmtpServer

EMAILS = Path(__file__).parents[2] / "emails"
PROMPTS = Path(__file__).parents[2] / "prompts"


def test_sound_home_is_all_ok(world: World) -> None:
    world.announce(1)
    world.env(ALERT_TO="operator@wren.edu")
    world.write("subscribers.yaml", LISTS.replace("@example.org", "@wren.edu"))
    ran = world.run("check")
    assert ran.code == 0, ran.out
    lines = ran.out.splitlines()
    assert all(line.startswith("ok     ") for line in lines), ran.out
    assert lines[-1].endswith("answers; asked for cs.LG alone, it has 1 paper")
    assert [line[7:].partition(":")[0] for line in lines] == [
        "settings",
        "lists",
        "lists",
        "emails",
        "prompts",
        "database",
        "disk",
        "alerts",
        "mail",
        "scoring",
        "arXiv",
    ]


def test_proxy_that_no_source_can_be_reached_through_is_a_finding_beside_others(
    world: World,
) -> None:
    world.announce(1)
    world.env(ARXIV_API_URL="https://arxiv.example.org/api/query")
    world.environ["HTTPS_PROXY"] = "socks5://proxy:1080"
    ran = world.run("check")
    assert ran.code == 78
    assert ran.out.splitlines()[-1].startswith(
        "fault  arXiv: environment: HTTPS_PROXY is not the address of a proxy"
    )
    assert "ok     mail: " in ran.out


def test_readers_that_are_only_examples_are_a_note_where_mail_leaves(world: World) -> None:
    ran = world.run("check", "--offline")
    assert ran.code == 0
    assert (
        "\nnote   lists: mail to ada@example.org and 2 more reaches nobody (example addresses); "
        "put your readers into subscribers.yaml\n"
    ) in ran.out
    world.write("subscribers.yaml", LISTS.replace("@example.org", "@example.org.uk"))
    assert "reaches nobody" not in world.run("check", "--offline").out
    world.env(ALERT_TO="you@example.org")
    said = "note   alerts: you@example.org reaches nobody (an example address); set ALERT_TO to your own"
    assert f"\n{said}\n" in world.run("check", "--offline").out
    world.write("subscribers.yaml", LISTS)
    world.env(smtp=False)
    said = world.run("check", "--offline").out
    assert "reaches nobody" not in said
    assert "alerts" not in said, "the outbox is looked at by whoever looks at it"


@pytest.mark.parametrize(
    ("domain", "meant"),
    [("gmial.com", "gmail.com"), ("uni.con", "uni.com"), ("Outlok.con", "outlook.com")],
)
def test_mistyped_domain_is_a_note_with_the_likely_one(
    world: World, domain: str, meant: str
) -> None:
    world.write("subscribers.yaml", LISTS.replace("@example.org", f"@{domain}"))
    assert (
        f"\nnote   lists: addresses at {domain.lower()} may reach nobody: did you mean {meant}?\n"
    ) in world.run("check", "--offline").out


def test_rare_domains_are_not_mistaken_for_others(world: World) -> None:
    world.write("subscribers.yaml", LISTS.replace("@example.org", "@mail.com"))
    assert "did you mean" not in world.run("check", "--offline").out


def test_long_topics_are_a_note_with_their_tokens_in_each_call(world: World) -> None:
    world.write("prompts/topics/long.md", "Relevant: größe\n" * 5_600)
    long = LISTS.replace("dwarf galaxies", "topics/long.md")
    world.write("subscribers.yaml", long)
    note = "note   lists: galaxies: topics of 101 kB are about 22,399 tokens in each call of the LLM; shorten them\n"
    assert note in world.run("check", "--offline").out
    world.env(llm=False)
    assert "tokens" not in world.run("check", "--offline").out


MOUNTS = """\
/dev/sda1 / ext4 rw,relatime 0 0
proc /proc proc rw 0 0
filer:/export /srv/my\\040group nfs4 rw,vers=4.2 0 0
//nas/papers /mnt/papers cifs rw 0 0
ada@far: /home/ada/far fuse.sshfs rw 0 0
systemd-1 /net autofs rw 0 0
filer:/net /net nfs rw 0 0
/dev/sdb1 /mnt/papers/local xfs rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv/my group/papers/data/paperboy.db", "nfs4"),
        ("/mnt/papers/paperboy.db", "cifs"),
        ("/home/ada/far/paperboy.db", "fuse.sshfs"),
        ("/net/paperboy.db", "nfs"),
        ("/mnt/papers/local/paperboy.db", ""),
        ("/mnt/papers-2/paperboy.db", ""),
        ("/home/ada/paperboy.db", ""),
    ],
)
def test_database_on_a_network_file_system_is_a_fault(path: str, kind: str) -> None:
    fault = f"{path} is on a network file system ({kind}), where SQLite's WAL fails; "
    fix = "set PAPERBOY_DATABASE to a file on a local disk"
    assert network_fault(Path(path), MOUNTS) == (fault + fix if kind else "")
    assert network_fault(Path(path), "") == "", "other systems have no such list"


def test_check_touches_nothing_and_asks_no_server_offline(world: World) -> None:
    before = sorted(world.path.rglob("*"))
    assert world.run("check", "--offline").code == 0
    assert (world.arxiv.requests, world.llm.requests, world.smtp.connections) == ([], [], 0)
    world.announce(1)
    world.run("check")
    assert sorted(world.path.rglob("*")) == before
    assert world.mails() == []


def test_misspelt_template_is_named(world: World) -> None:
    """A file that no template asks for changes nothing, and says nothing by itself."""
    (world.path / "emails").mkdir()
    for name in ("_head.mjml.j2", "_mashead.mjml.j2"):
        (world.path / "emails" / name).write_bytes((EMAILS / "_head.mjml.j2").read_bytes())
    ran = world.run("check", "--offline")
    assert (
        "ok     emails: the templates render; no shipped template uses _mashead.mjml.j2\n"
        in ran.out
    )


def test_list_without_subscribers_or_paused_is_named(world: World) -> None:
    paused = LISTS.replace("topics: dwarf", "paused: true\n    topics: dwarf")
    world.write(
        "subscribers.yaml", f"{paused}  - {{name: x, categories: [cs.LG], topics: learning}}\n"
    )
    ran = world.run("check", "--offline")
    assert "x: cs.LG; no subscribers, so it is never due" in ran.out
    assert (
        "galaxies: astro-ph.GA; 1 subscriber, 07:00 UTC; paused, so it sends nothing\n" in ran.out
    )
    assert ran.code == 0


def test_database_is_checked_although_the_lists_are_broken(world: World) -> None:
    world.write("subscribers.yaml", "lists:\n  - nam: x\n")
    ran = world.run("check", "--offline")
    assert ran.code == 78
    assert "fault  lists: subscribers.yaml:2:5: unknown key 'nam'" in ran.out
    assert "ok     database" in ran.out


def test_server_that_scores_is_not_asked_by_a_broken_prompt(world: World) -> None:
    """Which would be tried, and reported, once more."""
    world.announce(1)
    world.write("prompts/score.md.j2", "{{ nonsense }}")
    ran = world.run("check")
    assert ran.out.count("fault  ") == ran.out.count("fault  prompts: ") > 0
    assert (world.llm.requests, ran.code) == ([], 78)


def test_refused_key_is_a_fault_and_is_not_printed(world: World) -> None:
    world.announce(1)
    world.llm.api_key = "right"
    world.env(OPENAI_API_KEY="wrong-0123456789")
    ran = world.run("check")
    assert ran.code == 1
    assert "fault  scoring:" in ran.out
    assert "wrong-0123456789" not in ran.out


# ── A batch of the LLM ───────────────────────────────────────────────────────────────────────────


def scoring(world: World) -> tuple[int, list[str]]:
    """What check says of the LLM."""
    world.announce(1)
    ran = world.run("check")
    return ran.code, [line for line in ran.out.splitlines() if " scoring: " in line]


def test_server_of_ones_own_is_asked_about_a_whole_batch(world: World) -> None:
    code, (line,) = scoring(world)
    assert (code, line.startswith("ok     scoring: gpt-6-luna at ")) == (0, True)
    assert [len(ids) for ids in world.llm.asked] == [1, 16]


def test_embedded_scorer_is_asked_nothing(world: World) -> None:
    world.env(llm=False)
    code, (line,) = scoring(world)
    assert (code, line.startswith("ok     scoring: no OPENAI_API_KEY")) == (0, True)
    assert line.endswith("With systemd credentials, use the wrapper in paperboy manual service")


def test_batch_that_is_too_large_is_noted_with_the_setting(world: World) -> None:
    """A morning copes with it, but at a cost."""
    world.llm.take_at_most(8, "request too large")
    code, (first, lack) = scoring(world)
    assert (code, first[:6]) == (0, "ok    ")
    assert lack == (
        "note   scoring: asked about a batch of 16 papers (LLM_BATCH_SIZE), the LLM at "
        f"{world.llm.base_url} answers 413: it takes fewer papers in a call; lower LLM_BATCH_SIZE. It says: "
        "Request body too large for this model. Max size: 8000 tokens. A morning goes on with smaller batches"
    )


def test_rate_limit_after_the_first_question_does_not_ask_for_smaller_batches(world: World) -> None:
    world.llm.faults.extend([llm_faults.Fault(), llm_faults.FAULTS["rate limited"]])
    _, (_, lack) = scoring(world)
    assert lack.endswith("answers 429: Rate limit reached")


def test_batch_that_comes_back_with_gaps_is_noted(world: World) -> None:
    gaps = llm_faults.Fault(rewrite=lambda entries: entries[:9])
    world.llm.faults.extend([llm_faults.Fault(), gaps])
    _, (_, lack) = scoring(world)
    assert lack.endswith(" scored 9; a morning asks again for the others; lower LLM_BATCH_SIZE")


@pytest.mark.parametrize("context", [1_500, 2_400])
def test_server_that_cuts_a_batch_without_a_word_is_noted(world: World, context: int) -> None:
    """Also where the count of tokens alone would not tell."""
    world.llm.context = context
    world.env(LLM_BATCH_SIZE=16)
    _, (_, lack) = scoring(world)
    assert "num_ctx" in lack


def test_server_that_counts_nothing_is_believed(world: World) -> None:
    world.llm.counts_tokens = False
    assert len(scoring(world)[1]) == 1


@pytest.mark.parametrize("size", [4, 8, 16])
def test_server_that_does_not_count_what_it_had_cached_is_believed(world: World, size: int) -> None:
    world.env(LLM_BATCH_SIZE=size)
    world.llm.counts_cached = False
    assert len(scoring(world)[1]) == 1


def test_prompt_that_renders_but_not_for_every_list_is_a_fault(world: World) -> None:
    shipped = (PROMPTS / "score.md.j2").read_text("utf-8")
    world.write(
        "prompts/score.md.j2",
        shipped.replace("{% block rubric %}", "{% block rubric %}{{ papers[0].title }}"),
    )
    ran = world.run("check", "--offline")
    line = shipped.splitlines().index("{% block rubric %}") + 1
    assert f"fault  prompts: prompts/score.md.j2:{line}: 'papers' is undefined" in ran.out
    assert ran.code == 78


@pytest.mark.parametrize(
    ("what", "setting"),
    [("mail", "SMTP_PORT=9"), ("arXiv", "ARXIV_API_URL=http://127.0.0.1:9/api/query")],
)
def test_server_that_does_not_answer_is_a_fault(world: World, what: str, setting: str) -> None:
    world.announce(1)
    name, _, value = setting.partition("=")
    world.env(**{name: value})
    ran = world.run("check")
    assert ran.code == 1
    assert re.search(rf"^fault  {what}: .*127\.0\.0\.1", ran.out, re.MULTILINE)


def test_file_that_is_no_database_is_reported_once(world: World) -> None:
    world.env(PAPERBOY_DATABASE="subscribers.yaml")
    ran = world.run("check", "--offline")
    assert ran.code == 78
    assert ran.out.count("fault") == ran.out.count("fault  database:") == 1


@pytest.mark.parametrize("place", ["subscribers.yaml", "subscribers.yaml/outbox"])
def test_outbox_that_cannot_hold_mail_is_a_fault(world: World, place: str) -> None:
    world.env(smtp=False, PAPERBOY_OUTBOX=place)
    ran = world.run("check", "--offline")
    assert ran.code == 1
    assert "PAPERBOY_OUTBOX" in ran.out


def authors_notes(world: World, followed: str) -> list[str]:
    world.write("subscribers.yaml", LISTS.replace("[Yoshua Bengio]", followed))
    ran = world.run("check", "--offline")
    assert ran.code == 0
    return [line for line in ran.out.splitlines() if "authors: " in line]


def store(world: World, *authors: str) -> None:
    """A paper by each of them, submitted this week."""
    papers = [
        paper(f"2611.{number:05}", authors=(author,)) for number, author in enumerate(authors)
    ]
    with world.store() as kept:
        kept.papers.add(papers, ["cs.LG"], world.clock())


def test_followed_name_that_is_no_whole_name_is_a_note(world: World) -> None:
    """An unquoted `[Rubin, Vera]` is two names; but some authors do have one word."""
    said = (
        'full names are compared, one to an item, so write Vera Rubin, or "Rubin, Vera" in quotes'
    )
    note = f"note   authors: foundations: no stored paper matches {{}}; {said}"
    assert authors_notes(world, "[Rubin, Vera]") == [note.format("'Rubin' and 'Vera'")]
    assert authors_notes(world, "['Rubin, Vera, Ford', Ada Byron]") == [
        note.format("'Rubin, Vera, Ford'")
    ]
    assert authors_notes(world, "['Rubin, Vera', Ada Byron]") == []
    store(world, "Vera Rubin", "Aristotle")
    assert authors_notes(world, "[Rubin, Aristotle]") == [note.format("'Rubin'")]


@pytest.mark.parametrize(
    "name", ["J. Friml", "Y Bengio", "J.-L. Starck", "Ada Byron and Vera Rubin", "Prof. Ada Byron"]
)
def test_initials_titles_and_two_names_in_one_are_a_note(world: World, name: str) -> None:
    """Unless a stored paper is by that name, or shows which is meant."""
    (line,) = authors_notes(world, f"[{name}, J. Robert Oppenheimer, Dragan Huterer]")
    assert f"no stored paper matches {name!r}; full names are compared, one to an item" in line
    store(world, name)
    assert authors_notes(world, f"[{name}]") == []


def test_initials_of_a_stored_name_are_a_note_with_that_name(world: World) -> None:
    store(world, "Jiří Friml")
    (line,) = authors_notes(world, "[J. Friml]")
    assert "none is by J. Friml, but some are by Jiří Friml" in line


def test_followed_name_that_stored_papers_spell_otherwise_is_a_note(world: World) -> None:
    store(
        world,
        "V. Rubin",
        "Vera C. Rubin",
        "Karl Rubin",
        "Ada Byron",
        "A. Byron",
        *[f"Y. {n}. Wang" for n in "ABCDE"],
    )
    looked = "note   authors: foundations: of the 10 papers submitted since 20 Oct 2026, none is by"
    fix = "if that is the same person, add this spelling to authors"
    assert authors_notes(world, "[Vera Rubin, ADA BYRON, Nobody Else]") == [
        f"{looked} Vera Rubin, but some are by V. Rubin and Vera C. Rubin; {fix}"
    ]
    assert authors_notes(world, "[Yi Wang, Y. A. Wang]") == [
        f"{looked} Yi Wang, but some are by Y. A. Wang, Y. B. Wang, Y. C. Wang and 2 more; {fix}"
    ]
    world.later(days=40)
    assert authors_notes(world, "[Vera Rubin]") == []


def test_list_of_authors_alone_gets_corresponding_authors_only_from_sources_with_initials(
    world: World,
) -> None:
    """Which is said. Initials of others are no other spelling of a followed name."""

    def of_authors_alone(categories: str) -> str:
        topics = re.compile(r"    topics: \|\n.*\n")
        lists = topics.sub("", LISTS).replace("[cs.LG, stat.ML]", categories)
        world.write("subscribers.yaml", lists.replace("[Yoshua Bengio]", "[Ada Byron]"))
        return world.run("check", "--offline").out

    with_initials = paper(
        "biorxiv:10.1101/000001",
        authors=("A. Byron",),
        corresponding="Wei Zhang",
        primary_category="biorxiv/genomics",
        categories=("biorxiv/genomics",),
    )
    with world.store() as kept:
        kept.papers.add([with_initials], ["biorxiv/genomics"], world.clock(), "biorxiv")
    assert "Byron" not in of_authors_alone("[cs.LG, biorxiv/genomics]")

    assert "corresponding" not in of_authors_alone("[cs.LG]")
    assert (
        "note   authors: foundations: without topics, it gets only corresponding authors' papers of "
        "bioRxiv and medRxiv; others stand there by their initials\n"
    ) in of_authors_alone("[cs.LG, biorxiv/genomics, medrxiv]")


def test_category_that_had_no_paper_for_a_fortnight_is_a_note(world: World) -> None:
    """Unless the list takes all of the server. In the first days nobody can know, nor while it cannot be read."""
    kept = ("biorxiv/genomics", "biorxiv/cell biology", "biorxiv/zoology")
    text = """\
  - {name: cells, categories: [cs.LG, biorxiv/genomics, biorxiv/cell biology, biorxiv/zoology], topics: cells}
  - {name: life, categories: [biorxiv], topics: life}
"""
    world.write("subscribers.yaml", LISTS + text)

    def fetch(*papers: tuple[str, int]) -> None:
        """Store papers of these categories, each posted so many days ago."""
        posted = [
            paper(
                f"biorxiv:10.1101/{ago:06}",
                published=world.clock() - timedelta(days=ago),
                primary_category=category,
                categories=(category,),
            )
            for category, ago in papers
        ]
        with world.store() as opened:
            opened.papers.add(posted, kept, world.clock(), "biorxiv")
            opened.papers.add([], ["cs.LG"], world.clock())

    def silent() -> list[str]:
        said = world.run("check", "--offline").out
        before = "note   categories: cells: no paper of "
        after = " came in 14 days; see whether bioRxiv has another name for it"
        notes = [line for line in said.splitlines() if line.startswith("note   categories")]
        assert all(line.startswith(before) and line.endswith(after) for line in notes)
        return [line.removeprefix(before).removesuffix(after) for line in notes]

    fetch(("biorxiv/genomics", 13))
    assert silent() == []
    fetch(("biorxiv/genomics", 15))
    assert silent() == ["biorxiv/cell biology and biorxiv/zoology"]
    fetch(("biorxiv/cell biology", 1))
    assert silent() == ["biorxiv/zoology"]
    world.later(days=2)
    fetch()
    assert silent() == ["biorxiv/genomics and biorxiv/zoology"]
    world.later(days=20)
    assert silent() == []


def test_source_is_asked_once_and_only_where_a_list_takes_its_papers(
    world: World, biorxiv: BiorxivServer
) -> None:
    world.announce(1)
    assert world.run("check").code == 0
    world.once()
    assert biorxiv.requests == []

    yesterday = world.clock().date() - timedelta(days=1)
    biorxiv.records = [preprint(1, yesterday), preprint(2, yesterday, "medRxiv")]
    text = """\
  - {name: cells, categories: [biorxiv/genomics, biorxiv/zoology, cs.LG], topics: cells}
  - {name: life, categories: [biorxiv, medrxiv/oncology], topics: life}
"""
    world.write("subscribers.yaml", LISTS + text)
    ran = world.run("check")
    assert ran.code == 0
    answers = "answers; it has 1 record of Wednesday and Thursday"
    for name in ("bioRxiv", "medRxiv"):
        assert f"ok     {name}: {biorxiv.url} {answers}\n" in ran.out
    assert sorted(request.server for request in biorxiv.requests) == ["biorxiv", "medrxiv"]
    assert "ok     lists: life: bioRxiv, medRxiv (oncology); no subscribers" in ran.out

    biorxiv.lasting_fault = biorxiv_faults.only("medrxiv", biorxiv_faults.no_body)
    ran = world.run("check")
    assert ran.code == 1
    assert "fault  medRxiv: 127.0.0.1 sent no list of records (an empty body). A morning" in ran.out
    assert "ok     bioRxiv: " in ran.out


def test_announcement_feed_that_does_not_answer_is_a_note(world: World) -> None:
    world.announce(1)
    world.env(ARXIV_FEED_URL=world.arxiv.feed_url)
    assert "cross-listed late" not in world.run("check").out
    world.arxiv.feed_fault = arxiv_faults.rate_limited()
    ran = world.run("check")
    assert ran.code == 0
    assert (
        "note   arXiv: 127.0.0.1 answered HTTP 429 (Rate exceeded.); until http://127.0.0.1:"
        in ran.out
    )
    assert "nobody sees papers that are cross-listed late" in ran.out


def test_check_tries_the_token_command(world: World, trusted: ssl.SSLContext) -> None:
    def checked(**login: str) -> str:
        host = {"SMTP_HOST": "localhost", "SMTP_PORT": server.port, "SMTP_SECURITY": "starttls"}
        world.env(**host, SMTP_USERNAME="paperboy", **login)
        return next(line for line in world.run("check").out.splitlines() if " mail: " in line)

    with SmtpServer("starttls", trusted, "paperboy", "s3cret", token="good-token") as server:
        found = checked(SMTP_TOKEN_COMMAND="echo good-token")
        assert "logged in as paperboy with an access token" in found
        found = checked(SMTP_TOKEN_COMMAND="false")
        assert found.startswith(
            "fault  mail: SMTP_TOKEN_COMMAND failed with exit status 1. Run it by hand in the home"
        )
        found = checked(SMTP_TOKEN_COMMAND="echo old-token")
        words = '{"status":"401","schemes":"Bearer","scope":"https://mail.example.org/send"}'
        assert (
            f"535 5.7.3 Authentication unsuccessful {words}. Check that SMTP_TOKEN_COMMAND prints"
            in found
        )
        assert "old-token" not in found
        server.faults.append(
            Fault("AUTH", "550 5.7.30 Basic authentication is not supported for Client Submission.")
        )
        found = checked(SMTP_PASSWORD="s3cret")
        assert (
            "accepts no password, only an access token (OAuth): 550 5.7.30 Basic authentication is not"
            in found
        )
        assert "Set SMTP_TOKEN_COMMAND instead of SMTP_PASSWORD" in found


@pytest.mark.long("tries all templates several times")
def test_template_that_fails_only_on_the_web_is_reported_and_stops_no_mail(world: World) -> None:
    world.write(
        "emails/_masthead.mjml.j2", "<mj-text>\n{% if page.online %}{{ page.datum }}{% endif %}"
    )
    assert world.run("check", "--offline").code == 0
    world.env(WEB_URL="https://papers.example.org")
    checked = world.run("check", "--offline")
    assert checked.code == 78
    assert "emails/_masthead.mjml.j2:2" in checked.out + checked.err
    world.announce(1)
    assert world.once("foundations").code == 0
    assert len(world.mails()) == 2
