"""What calls of libnay return: named tuples, whose fields are those of the structs of nay.h."""
from typing import List, NamedTuple, Optional


class Plan(NamedTuple):
    """What a filter will be: computed, not measured. The kind of another system's filter is None."""

    kind: Optional[str]
    k: int
    nkeys: int
    nbits: int
    nbytes: int
    nbytes_file: int
    nbytes_build: int
    bits_per_key: float
    fpr: float
    fpr_limit: float
    window_error: float
    generations: int
    tag_bits: int


class Stats(NamedTuple):
    """The state of a filter. Rates and counts are estimates from the bits themselves."""

    kind: Optional[str]
    hash: Optional[str]
    k: int
    nkeys: int
    nkeys_estimated: float
    nbits: int
    nbits_set: int
    nbytes: int
    fill: float
    utilisation: float
    fpr_now: float
    fpr_planned: float
    overloaded: bool
    derived: bool
    saturated: bool
    read_only: bool
    locked: bool
    stores_key: bool
    nlevels: int
    tag_bits: int
    nstuck: int
    nrefused: int
    clock: int
    value_bits: int
    check_bits: int
    range_length: int
    range_block: int
    range_exact: bool
    range_shift: int


class Overlap(NamedTuple):
    """Estimated sizes of two sets, of their union and of their intersection."""

    nkeys_a: float
    nkeys_b: float
    nkeys_union: float
    nkeys_intersection: float
    jaccard: float


class Step(NamedTuple):
    """One thing that a probe reads: `found` is compared with `expected`."""

    name: str
    ok: bool
    group: int
    level: int
    number: int
    unit: str
    unit_index: int
    unit_bit: int
    bit: int
    nbits: int
    found: int
    expected: int


class Explanation(NamedTuple):
    """Why the answer is nay or maybe: maybe exactly when all steps of a group are ok."""

    maybe: bool
    reason: str
    hash: int
    ngroups: int
    steps: List[Step]

    def __str__(self) -> str:
        lines = [f"{'maybe' if self.maybe else 'nay'}: {self.reason}"]
        for step in self.steps:
            where = f"{step.unit} {step.unit_index}, " if step.unit else ""
            lines.append(
                f"  {step.name} {step.number}: {where}bit {step.bit} is {step.found}"
                + ("" if step.ok else f", not {step.expected}")
            )
        return "\n".join(lines)
