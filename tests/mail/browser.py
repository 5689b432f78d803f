"""Headless Chromium for mails: to measure them, and to look at them.

    python -m tests.mail.browser FOLDER [--real]   pictures of the mails at 390 and 800 px, light and dark
    python -m tests.mail.browser --readme          emails/digest.png

Nothing leaves the machine: the pages are files, and no driver or font is downloaded.
"""

from __future__ import annotations

import argparse
import base64
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.mail import mails, real_days

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

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
    for program in ("chromium", "chromedriver"):
        if not shutil.which(program):
            return f"{program} is not installed"
    try:
        import selenium  # noqa: F401, PLC0415  # only whether it is there
    except ImportError:
        return "selenium is not installed"
    return ""


class Browser:
    """One window, which shows one page at a time."""

    def __init__(self, driver: Chrome, folder: Path) -> None:
        self._driver, self._page = driver, folder / "page.html"

    def show(self, html: str, width: int, scheme: str, *, height: int = 900, scale: float = 1) -> None:
        """Opens the page in a viewport of that many CSS pixels, in the scheme `light` or `dark`."""
        self.resize(width, scheme, height=height, scale=scale)
        self._page.write_text(html, "utf-8", "xmlcharrefreplace", newline="")
        self._driver.get(self._page.as_uri())

    def resize(self, width: int, scheme: str, *, height: int = 900, scale: float = 1) -> None:
        """Changes the viewport under the page that is shown."""
        size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < PHONE}
        self._do("Emulation.setDeviceMetricsOverride", size)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self._do("Emulation.setEmulatedMedia", {"features": [feature]})

    def run(self, script: str, *arguments: object) -> Any:
        """What the script, the body of a function, returns of the page; a promise is waited for."""
        wrapped = (
            "const given = [...arguments], done = given.pop();"
            f"(async function () {{ {script} }}).apply(null, given)"
            ".then(value => done({value}), error => done({error: String(error)}));"
        )
        answer: Mapping[str, Any] = self._driver.execute_async_script(wrapped, *arguments)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer.get("value")

    def picture(self, *, height: int = 0, end: bool = False) -> bytes:
        """A PNG of the whole page, or of its first `height` px, or of its last."""
        width, page = self.run("return [innerWidth, document.documentElement.scrollHeight]")
        shown = min(height or page, page)
        clip = {"x": 0, "y": page - shown if end else 0, "width": width, "height": shown, "scale": 1}
        shot = self._do("Page.captureScreenshot", {"format": "png", "clip": clip, "captureBeyondViewport": True})
        return base64.b64decode(shot["data"])

    def _do(self, command: str, arguments: Mapping[str, object]) -> Any:
        return self._driver.execute_cdp_cmd(command, dict(arguments))


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser with a profile of its own, gone at the end."""
    from selenium.webdriver import Chrome, ChromeOptions  # noqa: PLC0415  # the suite runs without it, too
    from selenium.webdriver.chrome.service import Service  # noqa: PLC0415

    os.environ["SE_OFFLINE"] = "true"  # or Selenium might look for drivers of its own
    options = ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    with tempfile.TemporaryDirectory(prefix="paperboy-browser-", ignore_cleanup_errors=True) as folder:
        for flag in (*FLAGS, f"--user-data-dir={folder}/profile"):
            options.add_argument(flag)
        driver = Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            driver.set_script_timeout(60)
            yield Browser(driver, Path(folder))
        finally:
            driver.quit()


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
    """The sample's digest on a desk in the light, and on a phone in the dark; a phone's pixels are a fifth smaller."""
    html = _with_georgia(mails.MAILS["digest"]().html)
    with browser() as window:
        window.show(html, 700, "light", scale=scale)
        light = window.picture(height=800)
        window.show(html, 390, "dark", scale=scale * 0.8)
        dark = window.picture(height=910)
        shots = {name: base64.b64encode(shot).decode() for name, shot in (("light", light), ("dark", dark))}
        window.show(BOARD.format(desktop=800, phone=728, **shots), 1_042, "light", scale=scale)
        window.run("await Promise.all([...document.images].map(image => image.decode()))")
        whole = window.picture(height=848)
    if not shutil.which("pngquant"):  # 256 colours are plenty for text, and weigh a third
        return whole
    return subprocess.run(["pngquant", "--speed=1", "-"], input=whole, capture_output=True, check=True).stdout


def _with_georgia(html: str) -> str:
    return html.replace("</head>", GEORGIA, 1)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mail.browser", description="Pictures of the mails.")
    parser.add_argument("folder", type=Path, nargs="?", help="where pictures go")
    parser.add_argument("--real", action="store_true", help="of the real days, too, which lie in ../shared")
    parser.add_argument("--readme", action="store_true", help="emails/digest.png, which the README shows")
    chosen = parser.parse_args(arguments)
    if not chosen.folder and not chosen.readme:
        parser.error("say where the pictures go, or --readme")
    if chosen.real and not real_days.HERE:
        parser.error("the real days lie in ../shared, which is not here")
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
