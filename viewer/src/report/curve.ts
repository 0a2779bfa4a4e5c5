/** The area under a line by the trapezoidal rule, over shares from 0 to 1. */
export const areaUnder = (shares: readonly number[], values: readonly number[]): number =>
  shares.reduce(
    (area, share, k) => (k === 0 ? 0 : area + 0.5 * (values[k] + values[k - 1]) * (share - shares[k - 1])),
    0,
  );
