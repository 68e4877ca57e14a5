"""Probability distributions: what numpy lacks of the gamma and negative binomial ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from productrecs.engines.compiled_kernels import address, declare

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from productrecs.engines.array_types_and_sorting import Floats

_gamma_p = declare("gamma_p", "aaia", None)
_quantiles = declare("negative_binomial_quantiles", "aaiaia", None)


def gamma_p(shapes: npt.ArrayLike, values: npt.ArrayLike) -> Floats:
    """Return the regularized lower incomplete gamma function P(a, x), [n]; a is above 0.

    P(k, m) is the chance of at least k events by a Poisson distribution of mean m, and
    1 - P(d / 2, x / 2) that of at least x by a chi-squared one of d degrees of freedom.
    """
    shapes, values = map(_doubles, np.broadcast_arrays(shapes, values))
    results = np.empty(len(shapes))
    _gamma_p(address(shapes), address(values), len(shapes), address(results))
    return results


def negative_binomial_quantiles(
    means: Floats, sizes: Floats, shares: Sequence[float]
) -> Floats:
    """Return the quantiles at ascending `shares`, [n_shares, n], as whole numbers.

    The variance is mean + mean^2 / size; a mean of 0 gives 0.
    """
    means, sizes, targets = _doubles(means), _doubles(sizes), _doubles(shares)
    quantiles = np.empty((len(targets), len(means)))
    _quantiles(
        address(means),
        address(sizes),
        len(means),
        address(targets),
        len(targets),
        address(quantiles),
    )
    return quantiles


def _doubles(values: Any) -> Floats:
    return np.ascontiguousarray(np.atleast_1d(values), dtype=np.float64)
