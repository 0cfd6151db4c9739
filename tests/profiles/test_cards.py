"""Cards of profiles and weights show what their repr does, and say that it is private."""

import re

import numpy as np

import hetdp


def text(thing):
    return re.sub(r"<style>.*?</style>|<[^>]+>", " ", thing._repr_html_()).split()


def test_profiles_show_counts_only():
    profiles = hetdp.Profiles.from_pairs(["ann", "ann", "bob"], ["tea", "jazz", "tea"], weights=[1, 0.25, 1])
    assert text(profiles) == ["Profiles", "private", "users", "2", "items", "2", "pairs", "3"]


def test_weights_show_how_many_there_are():
    weights = hetdp.PrivacyWeights(np.linspace(0, 1, 7))
    assert " ".join(text(weights)) == "PrivacyWeights 7 items; none is shown private"
