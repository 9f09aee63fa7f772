"""Figures computed by SciPy and NumPy, as JSON: what the Rust statistics must reproduce.

    python lab/statistics/tests/scipy_figures.py > figures.json
    CHRONOSCOPE_SCIPY_FIGURES=figures.json cargo test scipy -- --include-ignored

Needs scipy. The input is fixed, so the output changes only with the library.
"""

import json
import math

import numpy as np
import scipy
from scipy import stats

A = [100.0, 103.5, 98.2, 101.1, 99.7, 104.4, 97.9]
B = [109.3, 111.0, 106.8, 112.7, 108.1, 113.9, 107.2]
C = [131.0, 95.5, 120.2, 99.1, 150.7]
D = [100.0, 103.5, 98.2, 101.1, 99.7, 104.4, 97.9, 161.3, 99.1, 100.8, 102.6]
E = [109.3, 111.0, 106.8, 112.7, 108.1, 113.9, 107.2, 110.4, 108.8, 188.1, 109.9]
POINTS = [(0.0, 2.07), (5.0, 7.09), (20.0, 22.10), (80.0, 82.10)]
FLAT = [(0.0, 2.03), (5.0, 2.05), (20.0, 2.02), (40.0, 2.06), (80.0, 2.03)]
P_VALUES = [0.01, 0.04, 0.03, 0.005, 0.9, 0.03]
QUANTILES = [0.0, 0.001, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 1.0]


def values(count, modulus):
    """A fixed, scattered sequence that any language can repeat."""
    state, out = 1, []
    for _ in range(count):
        state = (state * 48271) % 2147483647
        out.append(state % modulus)
    return out


def percentiles():
    for count, modulus in [(1, 100), (7, 50), (1000, 2048), (12345, 2000), (5000, 10**9)]:
        data = values(count, modulus)
        found = np.quantile(np.array(data), QUANTILES, method="inverted_cdf")
        yield {
            "values": data,
            "quantiles": [{"q": q, "value": int(v)} for q, v in zip(QUANTILES, found)],
            "mean": float(np.mean(data)),
            "sigma": float(np.std(data, ddof=1)) if count > 1 else None,
        }


def t_test(test, a, b, result):
    interval = result.confidence_interval(0.95)
    return {
        "test": test,
        "a": a,
        "b": b,
        "t": float(result.statistic),
        "freedom": float(result.df),
        "p": float(result.pvalue),
        "low": float(interval.low),
        "high": float(interval.high),
    }


def yuen_paired(a, b):
    """Yuen 1974 on the differences of logarithms, by its definition; SciPy has it for two independent sides only."""
    d = np.sort(np.log(b) - np.log(a))
    n, g = len(d), len(d) // 5
    h = n - 2 * g
    winsorized = np.clip(d, d[g], d[n - g - 1])
    error = math.sqrt((n - 1) * np.var(winsorized, ddof=1) / (h * (h - 1)))
    mean = stats.trim_mean(d, g / n + 1e-12)
    t, half = mean / error, stats.t.isf(0.025, h - 1) * error
    result = {"test": "paired", "a": a, "b": b, "t": t, "freedom": h - 1.0, "p": 2 * stats.t.sf(abs(t), h - 1)}
    result |= {"low": mean - half, "high": mean + half}
    return {key: float(value) if isinstance(value, np.floating) else value for key, value in result.items()}


def t_tests():
    for a, b in [(A, B), (A, C), (C, A), (A, A[:3])]:
        logs = np.log(b), np.log(a)
        yield t_test("welch", a, b, stats.ttest_ind(*logs, equal_var=False))
    for a, b in [(A, B), (B, A), (C, A[:5]), (C[:2], A[:2])]:
        yield t_test("paired", a, b, stats.ttest_rel(np.log(b), np.log(a)))
    # Ours trims from ten values on.
    for a, b in [(D, E), (E[:10], D), (D + E, E + D[:9])]:
        yield t_test("welch", a, b, stats.ttest_ind(np.log(b), np.log(a), equal_var=False, trim=0.2))
    for a, b in [(D, E), (E[:10], D[:10]), (D + E, E + D)]:
        yield yuen_paired(a, b)


def t_quantiles():
    for p in [0.5, 0.05, 0.04 / 68, 1e-6]:
        for freedom in [1.0, 2.5, 9.0, 1e6]:
            yield {"p": p, "freedom": freedom, "t": float(stats.t.isf(p / 2, freedom))}


def clopper_pearson():
    for misses, samples in [
        (0, 1), (0, 100), (0, 100_000_000), (1, 10), (3, 1_000), (9, 10), (10, 10),
        (50, 100), (7, 1_000_000), (1_234, 100_000_000), (400_000, 1_000_000),
    ]:
        # binomtest(...).proportion_ci(method="exact") is the same bound, but its root search stops
        # at 2e-12 absolute, which is 1e-6 of a rate of 3e-8.
        upper = 1.0 if misses == samples else stats.beta.ppf(0.95, misses + 1, samples - misses)
        test = stats.binomtest(misses, samples, alternative="less")
        searched = test.proportion_ci(confidence_level=0.95, method="exact").high
        assert abs(upper - searched) < 4e-12
        yield {"misses": misses, "samples": samples, "upper": float(upper)}


def samples_to_claim():
    """The smallest n with binom.cdf(misses, n, rate) <= 0.05, counted up one by one."""
    for rate, misses in [(0.05, 0), (0.01, 0), (0.01, 1), (0.001, 3), (0.2, 10)]:
        samples = misses + 1
        while stats.binom.cdf(misses, samples, rate) > 0.05:
            samples += 1
        yield {"rate": rate, "misses": misses, "samples": samples}


def slopes():
    for points in [POINTS, FLAT]:
        fit = stats.linregress(*zip(*points))
        yield {
            "points": points,
            "slope": float(fit.slope),
            "intercept": float(fit.intercept),
            "standard_error": float(fit.stderr),
        }


def holm(ps):
    """Holm 1979 by its definition; SciPy has only false discovery rates."""
    order = sorted(range(len(ps)), key=lambda i: ps[i])
    out = [0.0] * len(ps)
    for rank, i in enumerate(order):
        out[i] = min(1.0, max((len(ps) - k) * ps[order[k]] for k in range(rank + 1)))
    return out


def incomplete_beta():
    for a, b, x in [
        (0.5, 0.5, 0.3), (2.0, 3.0, 0.01), (40.0, 0.5, 0.99), (1e3, 2e3, 0.33),
        (1e6, 10.0, 0.99999), (11.0, 1e8, 1.5e-7), (3e5, 7e5, 0.3005),
    ]:
        yield {"a": a, "b": b, "x": x, "value": float(scipy.special.betainc(a, b, x))}


def chi_squared():
    for x, freedom in [(0.5, 1), (30.1, 19), (3.0, 19), (200.0, 19), (18.0, 20), (1e4, 1e4)]:
        yield {"x": x, "freedom": freedom, "upper": float(stats.chi2.sf(x, freedom))}


def dispersions():
    """The test of homogeneity of a table of samples with and without an event, a column a block."""
    for blocks in [[(100, 3), (100, 1)], [(1000, k % 7) for k in range(20)], [(50 + k, k) for k in range(1, 21)]]:
        table = [[n - k for n, k in blocks], [k for _, k in blocks]]
        found = stats.chi2_contingency(table, correction=False)
        yield {"blocks": blocks, "dispersion": float(found.statistic / found.dof), "p": float(found.pvalue)}


def medians():
    for data in [A, C, A[:4], [1.0]]:
        yield {"values": data, "median": float(np.median(data))}


def main():
    figures = {
        "versions": {"scipy": scipy.__version__, "numpy": np.__version__},
        "percentiles": list(percentiles()),
        "t_tests": list(t_tests()),
        "t_quantiles": list(t_quantiles()),
        "clopper_pearson": list(clopper_pearson()),
        "samples_to_claim": list(samples_to_claim()),
        "slopes": list(slopes()),
        "holm": [{"p": P_VALUES, "corrected": holm(P_VALUES)}],
        "incomplete_beta": list(incomplete_beta()),
        "chi_squared": list(chi_squared()),
        "dispersions": list(dispersions()),
        "medians": list(medians()),
    }
    assert not any(math.isnan(t["p"]) for t in figures["t_tests"])
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
