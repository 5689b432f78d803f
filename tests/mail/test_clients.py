"""What the mails ask of mail programs, held against caniemail's tables: nothing that Gmail, Outlook, Apple Mail or
Yahoo lack, beyond what any MJML document asks and a few enhancements that nobody misses who does not have them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import mjml
import pytest

from tests.mail.mails import MAILS

MODULES = Path(os.environ.get("PAPERBOY_NODE_MODULES", ""))

pytestmark = [
    pytest.mark.skipif(
        not shutil.which("node"), reason="node is not installed; .ci/run installs it"
    ),
    pytest.mark.skipif(
        not (MODULES / "caniemail").is_dir(),
        reason="PAPERBOY_NODE_MODULES names no folder with caniemail; .ci/run does",
    ),
]

CLIENTS = ("gmail.*", "outlook.*", "apple-mail.*", "yahoo.*")
MEDIA_SCHEME = "@media (prefers-color-scheme)"
ENHANCEMENTS = {
    MEDIA_SCHEME: "where it is not known, the mail is light, or inverted by the client: its colours survive that",
    "color-scheme CSS property": "tells a client that both schemes are designed; without it, some invert the light one",
    "border-radius": "rounds the corners of the votes; in Outlook for Windows they are square",
    "color-scheme meta tag": "the same, for clients that look for it there",
    "text-decoration-color": "makes the line under a title lighter than its words",
    "text-decoration-thickness": "the same: a thin line",
    "text-underline-offset": "the same: a line apart from its words",
    "text-wrap": "leaves no short last line; where it is not known, some titles end in one",
    "white-space": "keeps a number of a table on one line, where it is anyway unless the words beside it are long",
}

BARE = """<mjml lang="en" dir="ltr">
<mj-head><mj-title>Bare</mj-title><mj-preview>Bare</mj-preview><mj-style>a{color:#000000}</mj-style></mj-head>
<mj-body><mj-section><mj-column>
<mj-text><a href="https://arxiv.org/">Text</a></mj-text><mj-divider /><mj-table><tr><td>1</td></tr></mj-table>
</mj-column></mj-section></mj-body></mjml>"""

# caniemail does not look into @media: its rules are given to it without the condition.
SCRIPT = r"""
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
const { caniemail } = await import(pathToFileURL(process.argv[1] + '/caniemail/dist/index.js'));
const { clients, pages } = JSON.parse(readFileSync(0, 'utf8'));
const found = {};
for (const [name, html] of Object.entries(pages)) {
    found[name] = [];
    for (const [client, issues] of caniemail({ clients, html }).issues.errors)
        for (const { title } of issues) found[name].push([client, title]);
}
console.log(JSON.stringify(found));
"""


@pytest.fixture(scope="module")
def unsupported() -> Mapping[str, set[tuple[str, str]]]:
    """By mail, and for `bare` MJML: each client with each feature that a page uses and the client lacks."""
    pages = {name: make().html for name, make in MAILS.items()} | {
        "bare": mjml.mjml2html(BARE, fonts={})
    }
    pages |= {
        f"{name}, media": re.sub(r"@media[^{]*\{((?:[^{}]*\{[^{}]*\})*)\s*\}", r"\1", html)
        for name, html in pages.items()
    }
    done = subprocess.run(
        ["node", "--input-type=module", "-e", SCRIPT, str(MODULES)],
        input=json.dumps({"clients": CLIENTS, "pages": pages}),
        capture_output=True,
        check=True,
        text=True,
    )
    found = {
        name: {(client, title) for client, title in pairs}
        for name, pairs in json.loads(done.stdout).items()
    }
    return {name: found[name] | found[f"{name}, media"] for name in (*MAILS, "bare")}


@pytest.mark.parametrize("name", MAILS)
def test_mail_needs_no_client_feature_beyond_mjmls(
    unsupported: Mapping[str, set[tuple[str, str]]], name: str
) -> None:
    beyond = {
        (client, title)
        for client, title in unsupported[name] - unsupported["bare"]
        if title not in ENHANCEMENTS
    }
    assert not beyond


def test_every_listed_enhancement_is_used(unsupported: Mapping[str, set[tuple[str, str]]]) -> None:
    used = {title for name in MAILS for _, title in unsupported[name] - unsupported["bare"]}
    if "prefers-color-scheme" in MAILS["digest"]().html:
        used.add(MEDIA_SCHEME)  # which the package knows of and never reports
    assert set(ENHANCEMENTS) <= used
