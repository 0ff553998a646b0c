"""Makes guests.tsv from a seed: python datasets/rankings/make.py"""

import random
from pathlib import Path

# How spicy, how filling, how cheap and how quick each dish is, and whether it has meat or fish.
DISHES = [
    ("curry", (1.0, 0.6, 0.4, -0.4, 0.0)),
    ("pizza", (-0.2, 0.8, 0.3, 0.3, 0.0)),
    ("salad", (-0.6, -0.8, 0.2, 0.6, 0.0)),
    ("steak", (-0.1, 0.7, -0.9, 0.0, 1.0)),
    ("sushi", (0.1, -0.3, -0.6, 0.2, 0.9)),
    ("tacos", (0.8, 0.3, 0.5, 0.5, 0.6)),
    ("soup", (0.0, -0.4, 0.8, 0.1, 0.0)),
]
# What a guest says for, and against, each of these.
SAYINGS = [
    ("loves it hot", "no spices please"),
    ("very hungry", "only a snack"),
    ("short of money", "money is no matter"),
    ("in a hurry", "has the whole evening"),
    ("misses meat and fish", "vegetarian today"),
]


def guest(draw):
    """A description and the rank of each dish, from 1."""
    wishes = [draw.choice((-1, 0, 0, 1)) for _ in SAYINGS]
    said = [SAYINGS[i][wish < 0] for i, wish in enumerate(wishes) if wish]
    draw.shuffle(said)
    taste = {}
    for name, qualities in DISHES:
        liked = sum(wish * quality for wish, quality in zip(wishes, qualities))
        taste[name] = liked + draw.gauss(0.0, 0.15)
    order = sorted(taste, key=taste.get, reverse=True)
    return "; ".join(said) or "eats anything", " ".join(str(order.index(name) + 1) for name, _ in DISHES)


def main():
    draw, rows = random.Random(11), ["id\tdescription\tranks"]
    for number in range(900):
        description, ranks = guest(draw)
        rows.append(f"g{number}\t{description}\t{ranks}")
    file = Path(__file__).parent / "guests.tsv"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
