"""How the cost of a generated token's rollout grows, by rollout_benchmark (rollout/incremental_rollout_benchmark.cc).

Two least-squares fits, and one that separates the work per stored row from the work per column:

    t = a L p m + b                                        coefficient of determination R^2
    t / (L p) = a m + c
    log t = c + alpha log L + beta log p + gamma log m     exponents with their standard errors
"""

import re
import subprocess

import numpy as np
from measured import ROOT

LINE = re.compile(r"L +(\d+) +p +(\d+) +m +(\d+) +([\d.]+) us")


def fit(columns: list[np.ndarray], y: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Coefficients of the columns, their standard errors and R^2; the constant's are the last."""
    x = np.column_stack([*columns, np.ones_like(y)])
    found = np.linalg.lstsq(x, y, rcond=None)[0]
    left = np.sum((y - x @ found) ** 2)
    errors = np.sqrt(np.diag(np.linalg.inv(x.T @ x)) * left / (len(y) - x.shape[1]))
    return found, errors, 1 - left / np.sum((y - y.mean()) ** 2)


def main() -> None:
    program = ROOT / "build" / "bench" / "rollout_benchmark"
    text = subprocess.run([program], check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
    print(text, end="")
    points = np.array([[float(number) for number in found] for found in LINE.findall(text)])
    layers, position, columns, time = points.T
    (a, b), _, r2 = fit([layers * position * columns], time)
    print(f"t = a L p m + b: a = {1e3 * a:.3f} ns, b = {b:.1f} us, R^2 = {r2:.4f} ({len(time)} points)")
    (a, c), _, r2 = fit([columns], 1e3 * time / (layers * position))
    print(f"t / (L p) = a m + c: a = {a:.3f} ns, c = {c:.2f} ns, R^2 = {r2:.4f}")
    exponents, errors, _ = fit([np.log(layers), np.log(position), np.log(columns)], np.log(time))
    fitted = zip("Lpm", exponents, errors, strict=False)
    print("log t = c + exponents:", ", ".join(f"{name} {value:.3f} +- {error:.3f}" for name, value, error in fitted))


if __name__ == "__main__":
    main()
