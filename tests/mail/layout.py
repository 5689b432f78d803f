"""What a reader sees of a mail in a browser: which lines break, which words end alone, and where entries lead.

An entry is an `h3`, whose link leads to its paper, and the paragraphs up to the next heading. Its group is the
nearest `h2` above it that is no entry.
"""

from __future__ import annotations

from typing import Any

from tests.mail.browser import Browser

_SCRIPT = """
const entries = [];
let group = '', entry = null;
for (const e of document.querySelectorAll('h1, h2, h3, p')) {
    if (e.tagName === 'P') { entry?.paragraphs.push(e); continue; }
    entry = null;
    if (e.matches('h3:has(a[href])')) entries.push(entry = {group, title: e, paragraphs: []});
    else if (e.tagName === 'H2') group = e.innerText;
}
const shown = e => e.checkVisibility({visibilityProperty: true, opacityProperty: true});
const within = (e, see) => {  // each visible character with the box that it stands in
    const walker = document.createTreeWalker(e, NodeFilter.SHOW_TEXT), range = document.createRange();
    while (walker.nextNode()) {
        let at = 0;
        for (const character of walker.currentNode.data) {
            range.setStart(walker.currentNode, at);
            range.setEnd(walker.currentNode, at += character.length);
            const box = range.getClientRects()[0];
            if (box?.width) see(character, box);
        }
    }
};
const lines = e => {  // a new one is further left, and below: not so a subscript
    const found = [];
    let bottom = -Infinity, right = Infinity;
    within(e, (character, box) => {
        if (!found.length || box.left < right - 1 && (box.top + box.bottom) / 2 > bottom) {
            found.push('');
            bottom = box.bottom;
        }
        found[found.length - 1] += character;
        bottom = Math.max(bottom, box.bottom);
        right = box.right;
    });
    return found.map(line => line.trim()).filter(Boolean);
};
const words = e => lines(e).join(' / ');
"""


def _of(window: Browser, script: str, *arguments: object) -> Any:
    return window.run(_SCRIPT + script, *arguments)


def broken(window: Browser) -> list[str]:
    """The fact line of each whole entry, where it takes more than one line."""
    script = """
    return [...document.querySelectorAll('.f')].filter(shown).filter(e => lines(e).length > 1).map(words);
    """
    found: list[str] = _of(window, script)
    return found


def orphans(window: Browser, most: int = 3) -> list[str]:
    """Titles, reasons, facts and the first paragraph whose last line is one word of at most so many characters."""
    script = """
    return [...document.querySelectorAll('h1, h2, h3, .g, .d, .w, .f, .l')].filter(shown).map(lines)
        .filter(found => found.length > 1 && found.at(-1).length <= arguments[0])
        .filter(found => /\\s/.test(found.at(-2)) && !/[-\u2013\u2014]$/.test(found.at(-2)))
        .map(found => found.slice(-2).join(' / '));
    """
    found: list[str] = _of(window, script, most)
    return found


def entry_links(window: Browser) -> list[str]:
    """Where the title of each entry leads."""
    found: list[str] = _of(
        window, "return entries.map(({title: e}) => e.querySelector('a[href]').href)"
    )
    return found


def close_votes(window: Browser, gap: float = 8) -> list[str]:
    """Links to vote, with another link that is nearer than the gap in px."""
    script = """
    const boxes = [...document.querySelectorAll('a')].flatMap(a => [...a.getClientRects()].map(box => [a, box]));
    const votes = boxes.filter(([a]) => /\\/vote\\/.*\\/(up|down)\\//.test(a.href));
    const apart = (from, to, one, other) => Math.max(0, other[from] - one[to], one[from] - other[to]);
    return votes.flatMap(([vote, one]) => boxes.filter(([a]) => a !== vote)
        .filter(([, other]) => Math.hypot(
            apart('left', 'right', one, other), apart('top', 'bottom', one, other)) < arguments[0])
        .map(([a]) => `${vote.innerText} | ${a.innerText}`));
    """
    found: list[str] = _of(window, script, gap)
    return found


def collisions(window: Browser, gap: float = 8) -> list[str]:
    """Neighbouring cells of a table between whose texts there is less than the gap in px."""
    script = """
    const extent = cell => {
        let left = Infinity, right = -Infinity;
        within(cell, (_, box) => { left = Math.min(left, box.left); right = Math.max(right, box.right); });
        return [left, right];
    };
    const found = [];
    for (const row of document.querySelectorAll('tr')) {
        const cells = [...row.cells].filter(cell => cell.innerText.trim());
        for (const [n, cell] of cells.slice(1).entries())
            if (extent(cell)[0] - extent(cells[n])[1] < arguments[0]) found.push(`${words(cells[n])} | ${words(cell)}`);
    }
    return found;
    """
    found: list[str] = _of(window, script, gap)
    return found


def without_style_sheets(window: Browser) -> None:
    """Drops each `<style>`, as some clients do."""
    window.run("for (const style of document.querySelectorAll('style')) style.remove()")
