#!/usr/bin/env python3
"""Pictures of the page of `dsokr serve` in eight states, by headless Chromium.

    benches/screenshots.py target/release/dsokr FOLDER [RUN SPECTRA]

The states are: first visit, answer, dark, phone, no hit, error and numbers, and of a RUN that reads mass spectra the answer
to the first entry of the file SPECTRA. FOLDER gets a PNG file of each. Debian: chromium.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.parse

QUERY = "A carboxylic acid with a bromine atom on a benzene ring."
WIDE = (1280, 1000)
PHONE = (412, 900)


def served(command):
    """Starts a server, and returns its process and address."""
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for line in server.stdout:
        listening = re.search(r"listening on (http://\S+)", line)
        if listening:
            return server, listening[1]
    sys.exit(f"{' '.join(map(str, command))} did not start")


def picture(address, fields, path, size=WIDE, dark=False):
    """Writes a picture of the page with these fields in its address."""
    url = address + ("?" + urllib.parse.urlencode(fields) if fields else "")
    with tempfile.TemporaryDirectory() as profile:
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
        command += ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars"]
        command += [f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}", "--virtual-time-budget=30000"]
        if dark:
            command.append("--blink-settings=preferredColorScheme=0")
        command += [f"--screenshot={path}", url]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print(path)


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    server, address = served([program, "demo", "--serve", "--port", "0"])
    picture(address, {}, folder / "first-visit.png")
    picture(address, {"q": QUERY}, folder / "answer.png")
    picture(address, {"q": QUERY}, folder / "dark.png", dark=True)
    picture(address, {"q": QUERY}, folder / "phone.png", size=PHONE)
    picture(address, {"q": QUERY, "formula": "U"}, folder / "no-hit.png")
    picture(address, {"q": QUERY, "formula": "?"}, folder / "error.png")
    server.terminate()
    with tempfile.TemporaryDirectory() as runs:
        config = pathlib.Path(__file__).parent.parent / "configs" / "quantiles.toml"
        run = pathlib.Path(runs) / "numbers"
        subprocess.run([program, "train", config, "--out", run, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        server, address = served([program, "serve", run, "--port", "0"])
        picture(address, {"q": "The molecule has twelve heavy atoms and a benzene ring."}, folder / "numbers.png")
        server.terminate()
    if len(sys.argv) > 4:
        server, address = served([program, "serve", sys.argv[3], "--port", "0"])
        entry = pathlib.Path(sys.argv[4]).read_text(encoding="utf-8").split("END IONS")[0] + "END IONS"
        picture(address, {"q": entry}, folder / "spectrum.png")
        server.terminate()


if __name__ == "__main__":
    main()
