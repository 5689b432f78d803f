"""Headless Chromium for mails: to measure them, and to look at them.

    python -m tests.mail.browser FOLDER [--real]   pictures of the mails at 390 and 800 px, light and dark
    python -m tests.mail.browser --readme          emails/digest.png

Nothing leaves the machine: the pages are files, and no driver or font is downloaded.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.mail import mails, real_days

PHONE = 480  # px; what is narrower is shown as a phone shows it
FLAGS = (
    "--headless=new",
    "--no-sandbox",  # CI runs as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",  # whatever else it may think of
)


def missing() -> str:
    """What is not installed here, in words; empty if pages can be shown."""
    return "" if shutil.which("chromium") else "chromium is not installed"


class Browser:
    """One window, which shows one page at a time, driven by Chromium's DevTools protocol over two pipes."""

    def __init__(self, commands: int, answers: int, folder: Path) -> None:
        self._commands = commands
        self._answers = answers
        self._page = folder / "page.html"
        self._session = ""
        self._sent = 0
        self._unread = bytearray()
        self._events: set[str] = set()
        target = self._do("Target.createTarget", {"url": "about:blank"})["targetId"]
        self._session = self._do("Target.attachToTarget", {"targetId": target, "flatten": True})[
            "sessionId"
        ]
        self._do("Page.enable", {})

    def show(
        self, html: str, width: int, scheme: str, *, height: int = 900, scale: float = 1
    ) -> None:
        """Opens the page in a viewport of that many CSS pixels, in the scheme `light` or `dark`."""
        self.resize(width, scheme, height=height, scale=scale)
        self._page.write_text(html, "utf-8", "xmlcharrefreplace", newline="")
        self._events.clear()
        self._do("Page.navigate", {"url": self._page.as_uri()})
        self._loaded()

    def open(self, url: str) -> None:
        """Follow a link."""
        self._events.clear()
        self._do("Page.navigate", {"url": url})
        self._loaded()

    def click(self, selector: str, *, loads: bool = True) -> None:
        """Press the mouse on an element, as a person does, and wait for the page that comes."""
        centre = (
            "const e = document.querySelector(arguments[0]); e.scrollIntoView({block: 'center'});"
        )
        x, y = self.run(
            f"{centre} const r = e.getBoundingClientRect(); return [r.x + r.width/2, r.y + r.height/2]",
            selector,
        )
        self._events.clear()
        for kind in ("mousePressed", "mouseReleased"):
            self._do(
                "Input.dispatchMouseEvent",
                {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1},
            )
        if loads:
            self._loaded()

    def type(self, text: str) -> None:
        """Into the field that has the focus."""
        self._do("Input.insertText", {"text": text})

    def scripts(self, *, run: bool) -> None:
        """Whether pages may run scripts."""
        self._do("Emulation.setScriptExecutionDisabled", {"value": not run})

    def _loaded(self) -> None:
        while "Page.loadEventFired" not in self._events:
            self._read()

    def resize(self, width: int, scheme: str, *, height: int = 900, scale: float = 1) -> None:
        """Changes the viewport under the page that is shown."""
        size = {
            "width": width,
            "height": height,
            "deviceScaleFactor": scale,
            "mobile": width < PHONE,
        }
        self._do("Emulation.setDeviceMetricsOverride", size)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self._do("Emulation.setEmulatedMedia", {"features": [feature]})

    def run(self, script: str, *arguments: object) -> Any:
        """What the script, the body of a function, returns of the page; a promise is waited for."""
        expression = f"(async function () {{ {script} }}).apply(null, {json.dumps(arguments)})"
        asked = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        answer = self._do("Runtime.evaluate", asked)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def picture(self, *, height: int = 0, top: int = 0, end: bool = False) -> bytes:
        """A PNG of the whole page, or of `height` px from `top` on, or of its last."""
        width, page = self.run("return [innerWidth, document.documentElement.scrollHeight]")
        shown = min(height or page, page)
        clip = {
            "x": 0,
            "y": page - shown if end else top,
            "width": width,
            "height": shown,
            "scale": 1,
        }
        shot = self._do(
            "Page.captureScreenshot", {"format": "png", "clip": clip, "captureBeyondViewport": True}
        )
        return base64.b64decode(shot["data"])

    def _do(self, method: str, params: Mapping[str, object]) -> Any:
        self._sent += 1
        command = {"id": self._sent, "method": method, "params": params}
        if self._session:
            command["sessionId"] = self._session
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        while (answer := self._read()).get("id") != self._sent:
            pass
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def _read(self) -> Mapping[str, Any]:
        """The next message, of which events are remembered by name."""
        while b"\0" not in self._unread:
            if not (octets := os.read(self._answers, 1 << 20)):
                raise RuntimeError("Chromium is gone")
            self._unread += octets
        message, _, self._unread = self._unread.partition(b"\0")
        read: dict[str, Any] = json.loads(message)
        self._events.add(read.get("method", ""))
        return read


@contextmanager
def browser(*flags: str) -> Iterator[Browser]:
    """A browser with a profile of its own, gone at the end. Of two flags of one name, the later one is taken."""
    (commands, to_browser) = os.pipe()
    (from_browser, answers) = os.pipe()
    with tempfile.TemporaryDirectory(
        prefix="paperboy-browser-", ignore_cleanup_errors=True
    ) as folder:
        chromium = [
            "chromium",
            *FLAGS,
            *flags,
            "--remote-debugging-pipe",
            f"--user-data-dir={folder}/profile",
        ]
        program = subprocess.Popen(
            [
                "bash",
                "-c",
                f'exec "$@" 3<&{commands} 4>&{answers}',
                "bash",
                *chromium,
            ],  # where Chromium looks for them
            pass_fds=(commands, answers),
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        try:
            yield Browser(to_browser, from_browser, Path(folder))
        finally:
            program.terminate()
            program.wait()
            os.close(to_browser)
            os.close(from_browser)


# --- pictures for people

# Most readers have Georgia, and no free system does. Gelasio has its measures; without it, another serif is shown.
GEORGIA = """<style>
@font-face{font-family:Georgia;src:local("Gelasio Regular")}
@font-face{font-family:Georgia;font-weight:600 700;src:local("Gelasio Bold")}
</style></head>"""

BOARD = """<!doctype html><style>
body{{margin:0;background:#d9d5cc}}
img{{position:absolute;display:block;object-fit:cover;object-position:top}}
#desktop{{left:24px;top:24px;width:700px;height:{desktop}px;border-radius:6px}}
#phone{{left:690px;top:52px;width:312px;height:{phone}px;border-radius:28px;border:8px solid #0c0a08}}
</style><img id="desktop" src="data:image/png;base64,{light}"><img id="phone" src="data:image/png;base64,{dark}">"""


def pictures(folder: Path, *, real: bool) -> None:
    """The beginning and the end of every mail at two widths in both schemes, and its parts as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {name: make() for name, make in mails.MAILS.items()}
    if real:
        made |= {f"real-{name}": real_days.mail_of(name) for name in real_days.NAMES}
    with browser() as window:
        for name, mail in made.items():
            (folder / f"{name}.html").write_text(mail.html, "utf-8")
            (folder / f"{name}.txt").write_text(mail.text, "utf-8")
            for width in (390, 800):
                for scheme in ("light", "dark"):
                    window.show(_with_georgia(mail.html), width, scheme)
                    for end in (
                        False,
                        True,
                    ):  # what is between them looks like them, and a whole day is too long to see
                        file = folder / f"{name}-{width}-{scheme}{'-end' if end else ''}.png"
                        file.write_bytes(window.picture(height=1_800, end=end))


def readme_picture(*, scale: float = 1.25) -> bytes:
    """The sample's digest on a desk in the light, and further down on a phone in the dark, whose pixels are a fifth
    smaller.
    """
    html = _with_georgia(mails.MAILS["digest"]().html)
    with browser() as window:
        window.show(html, 700, "light", scale=scale)
        light = window.picture(height=800)
        window.show(html, 390, "dark", scale=scale * 0.8)
        closest = window.run(
            "return document.querySelectorAll('h2')[1].getBoundingClientRect().top"
        )
        dark = window.picture(height=910, top=int(closest) - 20)
        shots = {
            name: base64.b64encode(shot).decode()
            for name, shot in (("light", light), ("dark", dark))
        }
        window.show(BOARD.format(desktop=800, phone=728, **shots), 1_042, "light", scale=scale)
        window.run("await Promise.all([...document.images].map(image => image.decode()))")
        whole = window.picture(height=848)
    if not shutil.which("pngquant"):  # 256 colours are plenty for text, and weigh a third
        return whole
    return subprocess.run(
        ["pngquant", "--speed=1", "-"], input=whole, capture_output=True, check=True
    ).stdout


def _with_georgia(html: str) -> str:
    return html.replace("</head>", GEORGIA, 1)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mail.browser", description="Pictures of the mails."
    )
    parser.add_argument("folder", type=Path, nargs="?", help="where pictures go")
    parser.add_argument(
        "--real", action="store_true", help="of the real days, too, if they are there"
    )
    parser.add_argument(
        "--readme", action="store_true", help="emails/digest.png, which the README shows"
    )
    chosen = parser.parse_args(arguments)
    if not chosen.folder and not chosen.readme:
        parser.error("say where the pictures go, or --readme")
    if chosen.real and not real_days.HERE:
        parser.error("needs real days of arXiv, which this repository does not hold")
    if absent := missing():
        parser.exit(1, f"{absent}: .ci/run says how it is installed\n")
    if chosen.readme:
        file = Path(__file__).parents[2] / "emails" / "digest.png"
        file.write_bytes(readme_picture())
        print(f"{file}: {file.stat().st_size:,} bytes")
    if chosen.folder:
        pictures(chosen.folder, real=chosen.real)
        print(f"{len(list(chosen.folder.glob('*.png')))} pictures in {chosen.folder}")


if __name__ == "__main__":
    main()
