"""A Chromium to drive: its shell, Playwright's own or the system's. `python -m tests.browser.chromium` brings one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Playwright, sync_playwright

SHELL = "chromium-headless-shell"  # the same engine without the windows: it opens a page in half the time
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find(playwright: Playwright) -> str | None:
    """The path of a Chromium, or None where there is none."""
    own = playwright.chromium.executable_path
    if (shell := shutil.which(SHELL)) or not Path(own).exists():
        return shell or next((path for name in NAMES if (path := shutil.which(name))), None)
    return own


def bring(playwright: Playwright) -> str:
    """Find one, or install it.

    Raises:
        SystemExit: neither Playwright nor the system's packages have one.
    """
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    for command in (
        [sys.executable, "-m", "playwright", "install", "chromium"],
        [*sudo, "apt-get", "update", "-qq"],
        [*sudo, "apt-get", "install", "-y", "-qq", SHELL],
        [*sudo, "apt-get", "install", "-y", "-qq", "chromium"],
    ):
        if path := find(playwright):
            return path
        if shutil.which(command[0]):
            subprocess.run(command, timeout=600, check=False)
    if path := find(playwright):
        return path
    raise SystemExit("No Chromium could be installed. Install one by hand, then run make test again.")


if __name__ == "__main__":
    with sync_playwright() as started:
        print(bring(started))
