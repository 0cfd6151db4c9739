import pytest

from hetdp import PrivacyWeights, WeightPrior, errors


def test_westin_prior_of_the_paper():
    prior = WeightPrior.westin(0.34, 0.43, 0.23)
    assert prior.mean() == pytest.approx(0.7225)
    assert prior.probabilities.sum() == pytest.approx(1)
    assert "mean 0.7225" in repr(prior)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5], [0.9]), "sum to 1"),
        (([2.0],), "weights of a prior must lie"),
        (([0.5, 1], [1.0]), "as many as weights"),
        (({0.5: 1.0}, [1.0]), "probabilities must be omitted"),
        (([0, 1], [-0.5, 1.5]), "probabilities must be >= 0"),
    ],
)
def test_bad_priors_are_refused(arguments, message):
    with pytest.raises(errors.InvalidInput, match=message):
        WeightPrior(*arguments)


def test_priors_from_what_makes_one():
    assert WeightPrior.of([0.5, 1.0]).mean() == 0.75
    assert WeightPrior.of({0.0: 0.5, 1.0: 0.5}).mean() == 0.5
    prior = WeightPrior([1.0])
    assert WeightPrior.of(prior) is prior
    with pytest.raises(errors.InvalidInput, match="a prior must be public"):
        WeightPrior.of(PrivacyWeights([0.5]))
