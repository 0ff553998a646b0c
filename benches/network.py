#!/usr/bin/env python3
"""Seconds of a training step on two test hosts against the bandwidth and the delay between them, and a cost model.

usage: benches/network.py DSOKR [--bandwidths 0,1000,500,200,100,50] [--delays 1,5] [--epochs 2] [--rounds 1]

DSOKR is the command, built with the feature `mpi`. The hosts are network namespaces of this machine with a core each, a
cable (veth) between them and `tc` on both of its ends: token buckets of so many Mbit/s (0: no limit). For a delay, in
milliseconds one way, the cable is a relay between two TAP devices that keeps each packet for that long, and has
200 Mbit/s. Nothing is left of the hosts at the end. Needs root, two cores, `ip`, `tc`, `mpirun` and, for
delays, /dev/net/tun.

The model is a transformer (4 layers, width 256) on the quickstart set, 64 pairs a step, one thread a rank. Prints JSON lines:

- `pairs`, `step_s`: one rank alone with 64, 32 and 16 pairs a step, from which `fixed_s` and `pair_s` are fitted;
- `mbit`, `delay_ms`, `mb_sent` (of a rank in a step, counted by the cable), `step_s`, `predicted_s`, `ratio`, `after_s` (the
  prediction for an exchange after the backward pass). `exchange_s`, processor time, is taken from the step without a limit,
  which is the first of the bandwidths.

The formulas are in notes/scaling.md.
"""
import argparse
import collections
import contextlib
import ctypes
import fcntl
import json
import math
import os
import pathlib
import select
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONFIG = ROOT / "benches/network.toml"
SIZES = {"encoder.layers": 4, "encoder.width": 256, "encoder.feed_forward": 1024}
PAIRS = 64
HOSTS = [f"dsokr-bench-{host}" for host in range(2)]
MTU = 9000
# seconds after which a message is seen that has arrived
PAUSE = 1e-4
# what a packet carries of its bytes on the cable: Ethernet, IP and TCP with time stamps take 66
PAYLOAD = (MTU - 52) / (MTU + 14)


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, **options)


def missing():
    """What keeps this from running, if anything."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    for program in ("ip", "tc", "mpirun", "taskset", "unshare"):
        if shutil.which(program) is None:
            return f"`{program}` is missing (Debian: iproute2, openmpi-bin, util-linux)"
    if os.cpu_count() < 2:
        return "two hosts with a core each need two cores"
    return None


def tap(host):
    """Creates the TAP device `eth0` of a host, and returns its packets' file."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/self/ns/net") as here, open(f"/run/netns/{host}") as there:
        try:
            if libc.setns(there.fileno(), 0):
                raise OSError(ctypes.get_errno(), f"setns {host}")
            device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            tap_without_header, set_interface = 0x0002 | 0x1000, 0x400454CA
            fcntl.ioctl(device, set_interface, struct.pack("16sH22x", b"eth0", tap_without_header))
        finally:
            libc.setns(here.fileno(), 0)
    return device


def relay(ends, delay):
    """Passes packets between two TAP devices, each `delay` seconds after its arrival. Does not return."""
    waiting = {end: collections.deque() for end in ends}
    while True:
        due = [queue[0][0] for queue in waiting.values() if queue]
        pause = max(0.0, min(due) - time.monotonic()) if due else None
        readable, _, _ = select.select(ends, [], [], pause)
        now = time.monotonic()
        for end in readable:
            with contextlib.suppress(BlockingIOError):
                while True:
                    waiting[end].append((now + delay, os.read(end, MTU + 100)))
        for end, other in (ends, ends[::-1]):
            while waiting[end] and waiting[end][0][0] <= now:
                # the network of a host that is going down takes none
                with contextlib.suppress(OSError):
                    os.write(other, waiting[end].popleft()[1])


@contextlib.contextmanager
def cable(mbit, delay_ms):
    """Two hosts with a cable between them."""
    relaying = None
    try:
        for host in HOSTS:
            run("ip", "netns", "add", host)
        if delay_ms:
            ends = [tap(host) for host in HOSTS]
            relaying = os.fork()
            if relaying == 0:
                try:
                    relay(ends, delay_ms / 1e3)
                finally:
                    os._exit(1)
            for end in ends:
                os.close(end)
        else:
            run("ip", "link", "add", "eth0", "netns", HOSTS[0], "type", "veth", "peer", "name", "eth0", "netns", HOSTS[1])
        for number, host in enumerate(HOSTS):
            run("ip", "-n", host, "link", "set", "lo", "up")
            run("ip", "-n", host, "addr", "add", f"10.77.0.{number + 1}/24", "dev", "eth0")
            run("ip", "-n", host, "link", "set", "eth0", "mtu", MTU, "up")
            # every kernel has it
            run("ip", "netns", "exec", host, "sysctl", "-qw", "net.ipv4.tcp_congestion_control=reno")
            if mbit:
                bucket = ["tbf", "rate", f"{mbit}mbit", "burst", "128kb", "latency", "100ms"]
                run("tc", "-n", host, "qdisc", "add", "dev", "eth0", "root", *bucket)
        yield
    finally:
        if relaying:
            os.kill(relaying, 9)
            os.waitpid(relaying, 0)
        for host in HOSTS:
            subprocess.run(["ip", "netns", "del", host], capture_output=True)


class Bench:
    def __init__(self, dsokr, epochs, folder):
        self.folder = folder
        self.environment = {**os.environ, "RAYON_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1"}
        self.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
        sizes = [argument for key, value in SIZES.items() for argument in ("--set", f"{key}={value}")]
        self.train = [dsokr, "train", CONFIG, *sizes, "--set", f"training.epochs={epochs}"]
        # a host has a name, a network and a core of its own
        self.agent = folder / "agent"
        self.agent.write_text(
            "#!/bin/sh\nhost=$((${1##*.} - 1)); shift\n"
            "exec taskset -c $host unshare --uts sh -c 'hostname dsokr-bench-$0; "
            "exec ip netns exec dsokr-bench-$0 sh -c \"$*\"' $host \"$@\"\n"
        )
        self.agent.chmod(0o755)

    def step(self, command, out):
        """Seconds of a step in the last epoch, and the number of steps."""
        run(*command, cwd=ROOT, env=self.environment)
        line = json.loads((out / "log.jsonl").read_text().splitlines()[-1])
        return line["pairs_per_second"], line["step"]

    def alone(self, pairs):
        out = self.folder / "alone"
        shutil.rmtree(out, ignore_errors=True)
        command = ["taskset", "-c", 0, *self.train, "--set", f"training.batch={pairs}", "--out", out]
        per_second, _ = self.step(command, out)
        return pairs / per_second

    def together(self):
        """Seconds of a step of two hosts, and the bytes that a rank sends in it."""
        out = self.folder / "together"
        shutil.rmtree(out, ignore_errors=True)
        train = [*self.train, "--set", f"training.batch={PAIRS}", "--out", out]
        options = ["--host", "10.77.0.1,10.77.0.2", "-np", 2, "--bind-to", "none", "-x", "RAYON_NUM_THREADS"]
        options += ["--mca", "plm_rsh_agent", self.agent, "--mca", "btl", "tcp,self"]
        options += ["--mca", "btl_tcp_links", 2, "--mca", "btl_tcp_if_include", "eth0", "--mca", "oob_tcp_if_include", "eth0"]
        per_second, steps = self.step([self.agent, "10.77.0.1", "mpirun", *options, *train], out)
        counted = run("ip", "-n", HOSTS[0], "-j", "-s", "link", "show", "eth0")
        sent = json.loads(counted.stdout)[0]["stats64"]["tx"]["bytes"]
        return PAIRS / per_second, sent / steps

    def parameters(self):
        """The sizes of the encoder's parameters."""
        with open(self.folder / "alone/encoder.safetensors", "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(size))
        shapes = [tensor["shape"] for name, tensor in header.items() if name.startswith("encoder.")]
        return [math.prod(shape) for shape in shapes]


class Costs:
    """The cost model of notes/scaling.md."""

    def __init__(self, times, parameters):
        # least squares of fixed + pair · pairs
        mean_pairs, mean_time = statistics.mean(times), statistics.mean(times.values())
        covariance = sum((pairs - mean_pairs) * (time - mean_time) for pairs, time in times.items())
        self.pair = covariance / sum((pairs - mean_pairs) ** 2 for pairs in times)
        self.fixed = mean_time - self.pair * mean_pairs
        self.parameters = sum(parameters)
        # what is exchanged after the backward pass: the table of embeddings, or a bucket
        self.last = max(parameters) / self.parameters
        # about as many as the training fills, which takes the parameters in a different order
        limit, self.buckets, filled = min(max(-(-self.parameters // 8), 1 << 16), 1 << 20), 1, 0
        for size in parameters:
            if filled and filled + size > limit:
                self.buckets, filled = self.buckets + 1, 0
            filled += size
        # seconds of a step that the exchange takes without a network to wait for
        self.exchange = 0.0

    def wire(self, ranks, mbit, delay_ms):
        """Seconds that the bytes and messages of a step take."""
        sent = 8 * self.parameters * (ranks - 1) / ranks
        seconds = sent / PAYLOAD * 8 / (mbit * 1e6) if mbit else 0.0
        return seconds + self.buckets * 4 * (delay_ms / 1e3 + PAUSE)

    def step(self, ranks, mbit, delay_ms, overlap=True):
        share = self.pair * PAIRS / ranks
        backward, wire = 2 / 3 * share, self.wire(ranks, mbit, delay_ms)
        both = backward + wire
        if overlap:
            last = max(self.last, 1 / self.buckets)
            both = max(backward + last * wire, backward / self.buckets + wire)
        return self.fixed + share / 3 + both + self.exchange


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    numbers = lambda text: [float(number) for number in text.split(",") if number]
    parser.add_argument("dsokr", type=pathlib.Path)
    parser.add_argument("--bandwidths", type=numbers, default=numbers("0,1000,500,200,100,50"))
    parser.add_argument("--delays", type=numbers, default=numbers("1,5"))
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    arguments = parser.parse_args()
    if reason := missing():
        sys.exit(f"benches/network.py cannot run: {reason}")
    # without a limit first: the other predictions need it
    cables = [(mbit, 0.0) for mbit in sorted({0.0, *arguments.bandwidths}, key=lambda mbit: (mbit > 0, -mbit))]
    if os.path.exists("/dev/net/tun"):
        cables += [(200.0, delay) for delay in arguments.delays]
    elif arguments.delays:
        print("delays are left out: there is no /dev/net/tun", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments.dsokr.resolve(), arguments.epochs, pathlib.Path(folder))
        times = {}
        for pairs in (PAIRS, PAIRS // 2, PAIRS // 4):
            times[pairs] = min(bench.alone(pairs) for _ in range(arguments.rounds))
            print(json.dumps({"pairs": pairs, "step_s": round(times[pairs], 4)}), flush=True)
        costs = Costs(times, bench.parameters())
        fitted = {"fixed_s": costs.fixed, "pair_s": costs.pair, "parameters": costs.parameters, "buckets": costs.buckets}
        print(json.dumps(fitted), flush=True)
        for mbit, delay in cables:
            rounds = []
            for _ in range(arguments.rounds):
                with cable(mbit, delay):
                    rounds.append(bench.together())
            seconds, sent = min(rounds)
            if not mbit:
                costs.exchange = seconds - costs.step(2, 0, 0)
            predicted = costs.step(2, mbit, delay)
            line = {"mbit": mbit, "delay_ms": delay, "mb_sent": sent / 1e6, "step_s": seconds, "predicted_s": predicted}
            line |= {"ratio": seconds / predicted, "after_s": costs.step(2, mbit, delay, overlap=False)}
            if not mbit:
                line["exchange_s"] = costs.exchange
            print(json.dumps({key: round(value, 4) for key, value in line.items()}), flush=True)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as failed:
        sys.exit(f"{failed}\n{failed.stderr}")
