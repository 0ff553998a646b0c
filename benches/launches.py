#!/usr/bin/env python3
"""Kernels of a training step, from CubeCL's log of their launches.

usage: launches.py LOG [STEPS]

Write the log, which is appended to and large, with
  CUBECL_DEBUG_LOG=LOG CUBECL_DEBUG_OPTION=profile-full cargo bench --bench device_step -- …
CubeCL waits for each kernel then, so the sum of times is that of the device without gaps. Each wait for the device ends a
part of the log with a table: the last whole part counts, the last epoch of device_step, which has ten steps.
"""
import collections
import re
import sys

UNITS = {"ns": 1e-6, "µs": 1e-3, "ms": 1.0, "s": 1e3}
LAUNCH = re.compile(r"\| ([\d.]+)(ns|µs|ms|s) *\| (.+)")
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 10
last, part = [], []
with open(sys.argv[1], encoding="utf-8", errors="replace") as log:
    for line in log:
        if found := LAUNCH.match(line):
            time, unit, kernel = found.groups()
            # types without their paths; what follows is the kernel's constants
            name = re.sub(r"\b\w+::", "", re.split(r":(?= |$)", kernel.strip())[0])
            part.append((name, float(time) * UNITS[unit]))
        elif line.startswith("| Name ") and part:
            last, part = part, []
kernels = collections.defaultdict(list)
for name, time in last or part:
    kernels[name].append(time)
row = "{:>10} {:>10} {:>6}  {}".format
print(row("per step", "ms/step", "%", "kernel"))
total = sum(map(sum, kernels.values()))
print(row(f"{len(last or part) / steps:.1f}", f"{total / steps:.3f}", "100", "total"))
for name, times in sorted(kernels.items(), key=lambda kernel: -sum(kernel[1])):
    print(row(f"{len(times) / steps:.1f}", f"{sum(times) / steps:.3f}", f"{100 * sum(times) / total:.1f}", name[:120]))
