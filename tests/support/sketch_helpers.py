"""Profiles and bits for tests of sketches."""

from fractions import Fraction

import numpy as np

from hetdp import Profiles
from hetdp.noise.exact_coins import binary_digits
from hetdp.profiles.steps import WEIGHT_STEPS, CodedProfiles
from hetdp.sketching.bit_law import USUAL_TUNING, exact_chance_of_one
from hetdp.sketching.drawing import Sketches


def coded_of(rows, n_items):
    """Profiles from one dict of item -> code per user."""
    indptr = np.cumsum([0] + [len(row) for row in rows])
    pairs = [pair for row in rows for pair in sorted(row.items())]
    items = np.array([item for item, _ in pairs], dtype=np.int32)
    codes = np.array([code for _, code in pairs], dtype=np.uint8)
    return CodedProfiles(indptr.astype(np.int64), items, codes, n_items)


def random_profiles(n_users, n_items, per_user, seed=0, weights=None):
    random = np.random.default_rng(seed)
    users = np.repeat(np.arange(n_users), per_user)
    items = np.concatenate([random.choice(n_items, per_user, replace=False) for _ in range(n_users)])
    return Profiles.from_pairs(users, items, weights=weights, item_ids=np.arange(n_items))


def dense_bits(sketches):
    """All bits as users x items."""
    packed = [sketches.published_sketch(user) for user in range(sketches.n_users)]
    return np.unpackbits(np.array(packed), axis=1, bitorder="little")[:, : sketches.n_items]


def bits_of_rows(sketches, items):
    rows = np.empty((len(items), sketches.n_groups * 8), dtype=np.uint64)
    sketches.rows(np.asarray(items), rows)
    return np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")


def exact(epsilon, code):
    return binary_digits(exact_chance_of_one(epsilon, Fraction(code, WEIGHT_STEPS)), 60) / 2**60


def same_profile(row, n_items, copies):
    """`copies` users with the same profile: as many independent runs of one sketch."""
    items = np.array(sorted(row), dtype=np.int32)
    codes = np.array([row[item] for item in sorted(row)], dtype=np.uint8)
    indptr = np.arange(copies + 1, dtype=np.int64) * items.size
    return CodedProfiles(indptr, np.tile(items, copies), np.tile(codes, copies), n_items)


def runs(row, n_items, copies, *, epsilon, stream, tuned_for=USUAL_TUNING):
    sketches = Sketches(same_profile(row, n_items, copies), epsilon=epsilon, tuned_for=tuned_for, stream=stream)
    return bits_of_rows(sketches, range(n_items))[:, :copies].T
