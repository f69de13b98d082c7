"""Tests of Keras 2 and 3, whose folders name them in also.txt: their conftest.py comes first."""

from seeding import seeded  # noqa: F401
