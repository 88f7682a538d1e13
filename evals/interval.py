"""How sure a counted rate is: Wilson's score interval, which stays inside 0 to 1 and is usable at the ends and for small numbers."""

import math

_Z_95 = 1.959963984540054


def wilson(hits: int, n: int) -> tuple[float, float]:
    """Lower and upper bound of the 95 % interval. Raises ValueError without observations: no data is no rate."""
    if n <= 0 or not 0 <= hits <= n:
        raise ValueError(f"{hits} of {n} is no rate")
    rate, z2 = hits / n, _Z_95**2
    centre = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z_95 / (1 + z2 / n) * math.sqrt(rate * (1 - rate) / n + z2 / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)
