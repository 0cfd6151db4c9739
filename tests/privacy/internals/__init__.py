"""Steps beneath the public calls, each with an epsilon of its own: their honest cases, and what variants break.

`hetdp audit --all` audits public calls only; `test_cases` runs these cases too. False-alarm rate 1e-9 per case.
"""

#: Runs per side of a statistical case.
SAMPLES = 20_000
