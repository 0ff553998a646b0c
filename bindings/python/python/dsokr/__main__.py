"""``python -m dsokr demo [TEXT]`` searches molecules by a description; all else is the command's, a program of its own."""

import sys

import dsokr

if len(sys.argv) not in (2, 3) or sys.argv[1] != "demo":
    sys.exit("usage: python -m dsokr demo [TEXT]")
text = sys.argv[2] if len(sys.argv) == 3 else "A methyl ester with a chlorine atom on a benzene ring."
print(text)
for hit in dsokr.demo().search(text, k=5):
    print(f"{hit.score:8.4f}  {hit.id:10}  {hit.label}")
