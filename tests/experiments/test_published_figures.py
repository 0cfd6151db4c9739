"""What the paper printed."""

import re

import pytest

from hetdp.core.errors import DataError
from hetdp.experiments.paper_claims import CONCLUSIONS
from hetdp.experiments.published_figures import published_for, published_source, read_published


def test_points_of_the_paper():
    assert published_for("delicious").by_slices[0.0, 10] == 0.0920128
    assert published_for("delicious_like") is None
    assert "Alaggan" in published_source()


def test_a_conclusion_names_the_data_it_is_about():
    assert {conclusion.key: len(conclusion.about) for conclusion in CONCLUSIONS}["slices"] == 1


def test_a_file_may_hold_some_of_the_figures(tmp_path):
    path = tmp_path / "points.json"
    path.write_text(
        '{"source": "me", "figure1": {"mine": {"random": 0.1, "hdp_by_lower_weight": [[0.5, 0.2, 0.01]]}},'
        ' "figure2": {"mine": {"lower_0.5": [[2, 0.3]]}},'
        ' "figure3": {"mine": {"pragmatists_0.1": {"unconcerned": [[0.8, 0.4]]}}}}'
    )
    found = read_published(path)["mine"]
    assert (found.random, found.baseline, found.gap) == (0.1, None, None)
    assert found.by_lower == {0.5: 0.2}
    assert found.by_slices == {(0.5, 2): 0.3}
    assert found.by_groups == {(0.1, "unconcerned", 0.8): 0.4}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "--published must be a JSON file"),
        ("[]", "the file must be an object with names [(]got list[)]."),
        ("{}", "must hold points of a data set."),
        ('{"figure4": {}}', "the file must hold source, figure1, figure2, figure3 only [(]got 'figure4'[)]."),
        (
            '{"figure1": {"x": {"base": 1}}}',
            "figure1.x must hold baseline, random, hdp_by_lower_weight only. Got 'base'",
        ),
        ('{"figure1": {"x": {"random": 1.5}}}', "figure1.x.random must be a recall, from 0 to 1 [(]got 1.5[)]."),
        ('{"figure1": {"x": {"random": "a"}}}', "figure1.x.random must be a finite number [(]got 'a'[)]."),
        ('{"figure1": {"x": {"hdp_by_lower_weight": [0.5]}}}', "must hold points [place, recall] [(]got 0.5[)]."),
        ('{"figure1": {"x": {"hdp_by_lower_weight": 1}}}', "must be a list of points [(]got int[)]."),
        ('{"figure2": {"x": {"0.5": [[1, 0.5]]}}}', "figure2.x must have names such as lower_0.5 [(]got '0.5'[)]."),
        ('{"figure3": {"x": {"pragmatists_0.1": {"strict": []}}}}', "[(]got 'strict'[)]."),
    ],
)
def test_a_file_in_another_shape_is_refused_with_its_place(tmp_path, text, message):
    path = tmp_path / "points.json"
    path.write_text(text)
    with pytest.raises(DataError, match=re.escape(message)):
        read_published(path)
    with pytest.raises(DataError, match="--published must be a file that can be read"):
        read_published(tmp_path / "none.json")
