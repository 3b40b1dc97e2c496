"""A Chromium to drive: the machine's own, else Playwright's. `python -m tests.browser.chromium` brings one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, Playwright, sync_playwright

SHELL = "chromium-headless-shell"  # the same engine without the windows: it opens a page in half the time
NAMES = (SHELL, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

QUIET = (
    "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync "
    "--no-first-run --enable-precise-memory-info"
)


def find(playwright: Playwright) -> str | None:
    """The path of a Chromium, or None where there is none."""
    own = playwright.chromium.executable_path
    return next(filter(None, map(shutil.which, NAMES)), own if Path(own).exists() else None)


def launched(playwright: Playwright, *more: str) -> Browser:
    """A browser with these arguments, too."""
    return playwright.chromium.launch(executable_path=find(playwright), args=[*QUIET.split(), *more])


def bring(playwright: Playwright) -> str:
    """Find one, or install it. Root, which a container's user is, gets the shell beside another one, too.

    Raises:
        SystemExit: neither Playwright nor the system's packages have one.
    """
    is_root = os.geteuid() == 0
    apt = [*([] if is_root else ["sudo", "-n"]), "apt-get"]
    shell = [
        ("apt-get update", *apt, "update", "-qq"),
        (f"apt-get install {SHELL}", *apt, "install", "-y", "-qq", SHELL),
    ]
    own = ("Playwright's download of Chromium", sys.executable, "-m", "playwright", "install", "chromium")
    full = ("apt-get install chromium", *apt, "install", "-y", "-qq", "chromium")
    steps = [*shell, own, full] if is_root else [own, *shell, full]
    for step in steps:
        path = find(playwright)
        if path and (SHELL in path or not is_root or step not in shell):
            return path
        what, *command = step
        if (
            shutil.which(command[0])
            and subprocess.run(command, timeout=600, check=False, capture_output=True).returncode
        ):
            print(f"{what} failed.", file=sys.stderr)
    if path := find(playwright):
        return path
    raise SystemExit("No Chromium could be installed. Install one by hand, then run make test again.")


if __name__ == "__main__":
    with sync_playwright() as started:
        print(bring(started))
