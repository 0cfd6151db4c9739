"""What the paper printed."""

from hetdp.experiments.paper import CONCLUSIONS, published_for, published_source


def test_points_of_the_paper():
    assert published_for("delicious").by_slices[0.0, 10] == 0.0920128
    assert published_for("delicious_like") is None
    assert "Alaggan" in published_source()


def test_a_conclusion_names_the_data_it_is_about():
    assert {conclusion.key: len(conclusion.about) for conclusion in CONCLUSIONS}["slices"] == 1
