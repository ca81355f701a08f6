"""What was found half way is read, believed or not, and settled: in one order, for whatever was found.

What lies there is a claim that anybody may have written. Each one fails alone: an entry that cannot be read, or is not
believed, does not keep the others from being settled.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, TypeVar

from planproof.publish.transaction.deletion import describe_link
from planproof.publish.transaction.lock import Evicted, Locked
from planproof.publish.transaction.names import Refused
from planproof.publish.transaction.owner import Owner
from planproof.publish.transaction.states import report_end
from planproof.publish.transaction.verification import Disbelieved
from planproof.report import Report
from planproof.session import SparkFailure
from planproof_engine import AnalysisError


class Claim(NamedTuple):
    """What is said of a publish that stopped. `owner` is None for a move back, which has no step either. `command` goes
    on with it."""

    model: str
    strategy: str | None = None
    owner: Owner | None = None
    step: str | None = None
    command: str = "planproof recover"

    def __str__(self) -> str:
        if self.owner is None:
            return f"moving {self.model} back to dbt's folder stopped"
        return f"the publish of {self.model} ({self.strategy}) by {self.owner} stopped at step {self.step!r}"


T = TypeVar("T")


class Unfinished(Protocol[T]):
    """Something that was begun, and of which a file tells: a T."""

    @property
    def location(self) -> str:
        """The file, or the files, as people are shown them."""

    def read(self) -> T | None:
        """What the file says; None where it is gone, because another process has settled it. Raises ValueError where
        it says nothing that this version understands."""

    def claim(self, found: T) -> Claim: ...

    def verify(self, found: T) -> None:
        """Raises `Disbelieved` where the file names what a publish would not have named, and `SparkFailure`."""

    def settle(self, found: T) -> tuple[str, str]:
        """Finishes it, undoes it, or leaves it: the ending (of `states.ENDS`), and what is said of it."""


def settle(unfinished: Unfinished[Any], name: str = "?") -> Report:
    """What became of one unfinished thing, whatever happens meanwhile; `name` stands for a model that is not known."""
    claim, location = Claim(name), unfinished.location
    try:
        try:
            found = unfinished.read()
        except ValueError as error:
            return report_end("unreadable", name, f"{location}: {error}; look at the table it names, then delete it")
        if found is None:
            return report_end("settled by another", name, "settled by another process")
        claim = unfinished.claim(found)
        unfinished.verify(found)
        end, what = unfinished.settle(found)
        return report_end(end, claim.model, f"{claim}; {what}" if claim.owner else what, claim.strategy)
    except Disbelieved as reason:
        said = (
            f"{location} names what no publish of that table would have named: {reason}. Nothing was touched. Find out "
            "who wrote this file, look at the table, and delete the file"
        )
        return report_end("disbelieved", name, said)
    except (Locked, Evicted) as error:
        return report_end("locked", claim.model, str(error), claim.strategy)
    except (SparkFailure, AnalysisError, Refused) as error:
        said = f"{claim}, and it could not be settled: {error}; run `{claim.command}` again ({location})"
        return report_end("unanswered", claim.model, said, claim.strategy)
    except Exception as error:  # One of them must not keep the others from being settled.
        said = f"internal error in planproof: {location} could not be settled: {error!r}"
        return report_end("internal error", claim.model, said, claim.strategy)


def report_link(link: str) -> Report:
    """The report on a link in the place of one of planproof's own folders."""
    return report_end("disbelieved", "?", describe_link(link))
