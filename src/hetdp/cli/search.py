"""One search for neighbours from the command line: say what it will take, do it, say what came of it."""

import math
import time
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hetdp.cli.lists import SHOWN, Lists, guarantee_facts, plain
from hetdp.cli.output import note, print_facts, print_json
from hetdp.cli.search_options import DEFAULT_CYCLES, Asked, check_size, compiles, progress_bar
from hetdp.cli.source import Source, as_remarks, require_memory
from hetdp.core.words import byte_size, counted, rough_duration

if TYPE_CHECKING:
    from hetdp.accounting import Guarantee
    from hetdp.neighbors.estimate import Estimate
    from hetdp.neighbors.estimator import PrivateNeighbors
    from hetdp.profiles import Profiles

__all__ = ["Plan", "Search"]

#: Sizes of profiles for which it is said how many common items stand out from sketches. Public examples.
_EXAMPLE_SIZES = (50, 200)


@dataclass(frozen=True, repr=False, eq=False)
class Plan:
    """What was read, and what the search will take."""

    profiles: "Profiles"
    weights: str
    rough: "Estimate"
    stand_out: float | dict[str, float]


@dataclass(frozen=True)
class Search:
    """A search and how to speak about it.

    Attributes
    ----------
    asked, source
        What is searched, and where.
    for_neighbors, for_items
        What of epsilon goes to the neighbours, and to recommendations.
    recommendations
        Items per user; 0 for a search for neighbours alone.
    as_json, quiet
        As on the command line.

    Privacy
    -------
    Noise is secure. Remarks are for whoever holds the data.
    """

    asked: Asked
    source: Source
    for_neighbors: Fraction
    for_items: Fraction = Fraction(0)
    recommendations: int = 0
    as_json: bool = False
    quiet: bool = False
    began: float = field(default_factory=time.monotonic)

    def plan(self) -> Plan:
        """Read the file and say what is to be expected, before anything is drawn."""
        from hetdp.neighbors.estimate import estimate

        asked = self.asked
        data = self.source.read()
        profiles = data.profiles
        check_size(asked.neighbors, profiles.n_users)
        rough = estimate(
            profiles,
            engine=asked.engine,
            k=asked.neighbors,
            cycles=asked.cycles or DEFAULT_CYCLES,
            threads=asked.n_threads,
            recommendations=self.recommendations,
        )
        self._remark(
            f"Engine {asked.engine}: about {rough_duration(rough.seconds)} and {byte_size(rough.memory_bytes)} of "
            f"memory with {counted(asked.n_threads, 'thread')} (rough)."
        )
        require_memory(
            f"the {asked.engine} engine",
            rough.memory_bytes,
            check=not self.source.no_memory_check,
            way_through="Use a machine with more memory, fewer users or a smaller -k.",
        )
        return Plan(profiles, data.weights, rough, self._stand_out(profiles.n_users))

    def fit(self, profiles: "Profiles") -> "PrivateNeighbors":
        """Find the neighbours."""
        if compiles(self.asked.engine):
            self._remark("Compiling, once: the kernels are kept on disk, and later runs start at once ...")
        with progress_bar("Finding neighbours", quiet=self.quiet) as advance, as_remarks(quiet=self.quiet):
            model = self.asked.model(self.for_neighbors, self.source.listed, advance).fit(profiles)
        for remark in ("verdict", "consequence"):
            if remark in self._report(model):
                self._remark(str(model.report_[remark]))
        return model

    def recommend(self, model: "PrivateNeighbors") -> Lists:
        """Recommend items, from a fitted model."""
        with progress_bar("Recommending", quiet=self.quiet) as advance, as_remarks(quiet=self.quiet):
            model.progress = advance
            level = self.for_items or self.for_neighbors  # sketches are paid for already; the level does not matter
            return Lists.from_frame(model.recommend(self.recommendations, epsilon=level))

    def show_plan(self, plan: Plan) -> None:
        """Say what would be done and promised. Nothing is drawn, nothing is written."""
        facts = {
            "dry_run": True,
            **self._facts(plan),
            "estimated_seconds": round(plan.rough.seconds, 1),
            "estimated_memory_bytes": plan.rough.memory_bytes,
        }
        guarantee = self._promise(plan.profiles.n_users)
        output = None if self.asked.output is None else str(self.asked.output)
        if self.as_json:
            print_json(plain({**facts, "output": output, "guarantee": guarantee_facts(guarantee, self.source.listed)}))
            return
        words = {name.replace("_", " "): value for name, value in facts.items() if not isinstance(value, dict)}
        print_facts("Dry run: nothing was drawn", {**words, "output": output, "guarantee": guarantee.text})

    def finish(self, plan: Plan, model: "PrivateNeighbors", lists: Lists, what: str) -> None:
        """Write the lists, or show the first rows, and say what was promised."""
        output, guarantee = self.asked.output, model.guarantee_
        promised = guarantee_facts(guarantee, self.source.listed)
        if output is not None:
            # The file goes to recipients: settings and the promise are public, counts of items and pairs are not.
            lists.write(output, plain({**self._settings(plan), "guarantee": promised}))
            self._remark(f"Wrote {lists.n_rows:,} {what} to {output}.")
        sure = model.significance_
        summary = {
            "rows": lists.n_rows,
            "output": None if output is None else str(output),
            "significant_share": float((sure >= _significant()).sum() / max(1, sure.size)),
            "seconds": round(time.monotonic() - self.began, 2),
        }
        if self.as_json:
            first = [] if output is not None else [dict(zip(lists.names, row, strict=True)) for row in lists.first()]
            facts = {**self._facts(plan), **summary, "guarantee": promised, "report": self._report(model)}
            print_json(plain({**facts, **({"first_rows": first} if first else {})}))
            return
        if output is None:
            lists.show(f"The first {min(SHOWN, lists.n_rows)} of {lists.n_rows:,} {what}")
        shown = {
            what: f"{lists.n_rows:,} for {plan.profiles.n_users:,} users",
            "significant": f"{summary['significant_share']:.0%} of the places in the neighbour lists",
            "guarantee": guarantee.text,
        }
        print_facts("", shown)
        if output is None:
            self._remark(
                "-o FILE writes all of them. It draws new noise: keep the result of one run only, or losses add up."
            )
        elif not output.name.lower().endswith(".parquet"):
            self._remark("Keep the guarantee with the file; only a .parquet file carries it.")

    def _facts(self, plan: Plan) -> dict[str, Any]:
        """Return what is known, for whoever holds the data."""
        profiles = plan.profiles
        return {
            "users": profiles.n_users,
            "items": profiles.n_items,
            "pairs": profiles.n_pairs,
            "weights": plan.weights,
            **self._settings(plan),
        }

    def _settings(self, plan: Plan) -> dict[str, Any]:
        """Return what may be told to everybody."""
        settings = {**self.asked.settings(), "catalogue": self.source.listed, "items_to_stand_out": plan.stand_out}
        if self.recommendations:
            settings |= {
                "n": self.recommendations,
                "epsilon_neighbors": float(self.for_neighbors),
                "epsilon_recommendations": float(self.for_items),
            }
        return settings

    def _stand_out(self, n_users: int) -> float | dict[str, float]:
        """Say how many common items a neighbour needs, and whether there are cycles enough; return the former."""
        from hetdp.neighbors.estimate import sketch_items_to_stand_out, users_settled
        from hetdp.neighbors.scoring import SIZE_SHARE
        from hetdp.neighbors.significance import items_to_stand_out

        asked = self.asked
        needed: float | dict[str, float]
        if asked.engine == "sketch":
            by_size = {
                str(size): sketch_items_to_stand_out(
                    n_users=n_users, epsilon=self.for_neighbors, size=size, n_neighbors=asked.neighbors
                )
                for size in _EXAMPLE_SIZES
            }
            needed = by_size
            examples = " or ".join(
                f"{max(1.0, count):.0f} of {size}" if math.isfinite(count) else f"more than all {size}"
                for size, count in by_size.items()
            )
            text = f"about {examples} items of weight 1"
        else:
            noisy = asked.score != "overlap" and (asked.sizes or "noisy") == "noisy"
            level = self.for_neighbors * (1 - SIZE_SHARE * noisy)
            needed = items_to_stand_out(n_users=n_users, epsilon=level, n_neighbors=asked.neighbors)
            text = f"about {needed:.1f} items of weight 1" if needed >= 1 else "a single item of weight 1"
        share = " (the part that finds neighbours)" if self.for_items else ""
        self._remark(
            f"Among {n_users:,} users at epsilon {float(self.for_neighbors):.4g}{share}, a neighbour needs {text} in "
            "common to stand out from chance."
        )
        cycles = asked.cycles or DEFAULT_CYCLES
        if asked.engine == "gossip" and n_users > users_settled(cycles):
            self._remark(
                f"{cycles} cycles settle about {users_settled(cycles):,} users, not {n_users:,}: as a rule of thumb, "
                f"use --cycles {-(-n_users // users_settled(1)):,}, or --engine exact."
            )
        return needed

    def _promise(self, n_users: int) -> "Guarantee":
        """Return what a run would promise."""
        from hetdp.neighbors.promise import promise
        from hetdp.neighbors.recommending import POPULARITY_SHARE
        from hetdp.neighbors.scoring import SIZE_SHARE

        asked = self.asked
        public = asked.sizes == "public" and asked.score != "overlap"
        if asked.engine == "sketch":
            shared = self.for_neighbors
        else:
            noisy = asked.score != "overlap" and not public
            shared = self.for_neighbors * SIZE_SHARE * noisy + self.for_items * POPULARITY_SHARE
        return promise(
            asked.engine,
            per_recipient=self.for_neighbors + self.for_items - shared,
            shared=shared,
            most_recipients=n_users - 1,
            public_sizes=public,
            observed_catalogue=self.source.listed == "observed",
        )

    def _report(self, model: "PrivateNeighbors") -> dict[str, Any]:
        """Return what the engine says about itself; what neighbours alone cost would confuse beside the whole."""
        return {name: said for name, said in model.report_.items() if not (self.for_items and name == "consequence")}

    def _remark(self, text: str) -> None:
        note(text, quiet=self.quiet)


def _significant() -> float:
    from hetdp.neighbors.significance import SIGNIFICANT

    return SIGNIFICANT
