"""Cards of models: parameters before the fit, the promise after it, and no more than what is public."""

import re

import pytest

import hetdp
from hetdp.core.estimator import shown_params

PROFILES = hetdp.Profiles.from_pairs(
    [user for user in range(60) for _ in range(4)],
    [f"item {(user + step) % 20}" for user in range(60) for step in range(4)],
    weights=0.7310585,
)
MODELS = (hetdp.PrivateNeighbors, hetdp.PrivateRecommender)


def words(model):
    return " ".join(re.sub(r"<style>.*?</style>|<[^>]+>", " ", model._repr_html_()).split())


@pytest.mark.parametrize("kind", MODELS)
def test_before_the_fit_a_card_shows_parameters_those_chosen_first(kind):
    model = kind(epsilon=2.5, catalogue=["<b>", *map(str, range(9000))])
    html = model._repr_html_()
    assert "not fitted yet" in html
    assert "curious reader" not in html
    chosen, usual = shown_params(model)
    assert set(chosen) == {"epsilon", "catalogue"}
    assert set(chosen) | set(usual) == set(model.get_params())
    assert html.index("epsilon") < html.index("Parameters as by default") < html.index("random_state")
    assert "&lt;b&gt;" in html
    assert len(html) < 10_000
    assert repr(model) == f"{kind.__name__}(epsilon=2.5, catalogue={chosen['catalogue']})"


@pytest.mark.parametrize("kind", MODELS)
def test_after_the_fit_it_states_the_promise(kind):
    model = kind(epsilon=2.5, catalogue="given").fit(PROFILES)
    shown = words(model)
    assert "not fitted" not in shown
    assert f"{model.guarantee_.short[1:]}." in shown
    assert model.guarantee_.label().headline in shown
    assert "The promise in full" in shown
    assert "0.7310" not in shown
    assert "item 1" not in shown


@pytest.mark.parametrize("kind", MODELS)
def test_a_seeded_fit_is_stamped(kind):
    shown = words(kind(epsilon=2.5, catalogue="given", random_state=1).fit(PROFILES))
    assert "simulated: do not publish" in shown
    assert "nothing is promised" in shown
    assert "curious reader" not in shown


def test_looking_at_a_card_publishes_nothing():
    """A crowd whose matrix has not been published yet can go on growing after somebody has looked at the model."""
    items = sorted({str(item) for item in PROFILES.item_ids})
    model = hetdp.PrivateRecommender(epsilon=2.5, release="matrix", catalogue=items)
    model.partial_fit(PROFILES)
    assert "fitted" in words(model)
    others = hetdp.Profiles.from_pairs([100, 101], ["item 1", "item 2"])
    model.partial_fit(others)
