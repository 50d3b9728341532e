"""Pages in headless Chromium, by its DevTools protocol over a pipe: what they print to the console, request and show."""

import itertools
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import unquote, urlparse

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--remote-debugging-pipe",
)
SECONDS = 300
LINKS = "[...document.querySelectorAll('a[href]')].map(link => link.href)"
IDS = "[...document.querySelectorAll('[id]')].map(element => element.id)"
CLOSED = "[...document.querySelectorAll('details:not([open]) > summary')]"
WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


class Shown(NamedTuple):
    """What a page did. errors: on the console; requests: addresses that are no files; overflow: pixels that it is wider than the
    window; links: addresses; ids: of its elements; folds: how many there were, and how many of them did not open.
    """

    errors: list[str]
    requests: list[str]
    overflow: int
    links: list[str]
    ids: list[str]
    folds: tuple[int, int]


class Browser:
    """A tab."""

    def __init__(self, commands: BinaryIO, answers: BinaryIO) -> None:
        self.commands, self.answers = commands, answers
        self.numbers, self.events = itertools.count(1), list[dict[str, Any]]()
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self.session: str | None = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self(f"{domain}.enable")

    session = None

    def __call__(self, method: str, **params: Any) -> dict[str, Any]:
        """Result of a command; events before it are kept."""
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": params} | ({"sessionId": self.session} if self.session else {})
        self.commands.write(json.dumps(message).encode() + b"\0")
        self.commands.flush()
        while (answer := self._next()).get("id") != number:
            self.events.append(answer)
        assert "error" not in answer, answer
        return dict(answer["result"])

    def show(self, page: Path, width: int) -> Shown:
        """A page in a window of so many pixels, all of whose folds are opened."""
        self.events.clear()
        self("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=True)
        self("Page.navigate", url=page.absolute().as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())
        folds = self._value(f"{CLOSED}.map(fold => fold.click()).length")
        still = self._value(f"{CLOSED}.length")
        facts = [self._value(expression) for expression in (WIDE, LINKS, IDS)]
        addresses = [
            event["params"]["request"]["url"] for event in self.events if event.get("method") == "Network.requestWillBeSent"
        ]
        requests = [address for address in addresses if not address.startswith(("file:", "data:"))]
        return Shown([*self._errors()], requests, *facts, (folds, still))

    def _errors(self) -> Iterator[str]:
        for event in self.events:
            match event.get("method"), event.get("params", {}):
                case "Runtime.exceptionThrown", params:
                    yield str(params["exceptionDetails"])
                case "Runtime.consoleAPICalled", {"type": "error" | "warning" | "assert"} as params:
                    yield str(params["args"])
                case "Log.entryAdded", {"entry": {"level": "error" | "warning"} as entry}:
                    yield str(entry)

    def _value(self, expression: str) -> Any:
        return self("Runtime.evaluate", expression=expression, returnByValue=True)["result"]["value"]

    def _next(self) -> dict[str, Any]:
        text = bytearray()
        while (byte := self.answers.read(1)) != b"\0":
            assert byte, "Chromium has ended"
            text += byte
        return dict(json.loads(text))


@contextmanager
def browser() -> Iterator[Browser]:
    """A tab of a Chromium of its own."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        (commands_out, commands), (answers, answers_in) = os.pipe(), os.pipe()
        words = " ".join([str(CHROMIUM), *OPTIONS, f"--user-data-dir={home}"])
        ends = commands_out, answers_in
        process = subprocess.Popen(
            ["timeout", "-k", "5", str(SECONDS), "bash", "-c", f"exec {words} 3<&{ends[0]} 4>&{ends[1]}"],
            pass_fds=ends, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for end in ends:
            os.close(end)
        with os.fdopen(commands, "wb") as given, os.fdopen(answers, "rb") as told:
            try:
                yield Browser(given, told)
            finally:
                process.terminate()
                process.wait()


def leads_nowhere(page: Path, shown: Shown) -> list[str]:
    """Links of a page to files that are not there, or to places of itself that it does not have."""
    wrong = []
    for link in shown.links:
        address = urlparse(link)
        if address.scheme == "file":
            target = Path(unquote(address.path))
            inside = target == page.absolute() and address.fragment
            if not target.exists() or (inside and address.fragment not in shown.ids):
                wrong.append(link)
    return wrong
