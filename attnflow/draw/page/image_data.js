// A report document of kind "image" as its page uses it.
// @ts-check

/**
 * @typedef {{row: number, column: number}} Patch
 * @typedef {{low: number, top: number, above: number}} Scale
 *   above: the largest value, which may lie above the top
 */

class ImageReport extends ReportData {
  /** @param {any} document the parsed report document */
  constructor(document) {
    super(document);
    const { image, kind } = document.input;
    if (kind !== "image" || !image) throw new Error(`expected the report of a picture, found one of kind ${kind}`);
    const { rows, columns, first_patch: first, seen, width, height } = image;
    if (!(rows > 0 && columns > 0 && first + rows * columns <= this.n)) {
      throw new Error(`expected a token for each of ${rows} x ${columns} patches, found ${this.n} tokens`);
    }
    this.image = image;
    this.rows = rows;
    this.columns = columns;
    this.first = first;
    this.patches = rows * columns;
    /** Positions of [CLS] and the like. */
    this.specials = [...this.tokens.keys()].filter((i) => !this.isPatch(i));
    /** What the grid covers, in pixels of the picture. */
    this.seen = { left: seen[0], top: seen[1], right: seen[2], bottom: seen[3] };
    /** What is shown: the picture and the grid, which may reach beyond it. */
    this.shown = {
      left: Math.min(0, seen[0]),
      top: Math.min(0, seen[1]),
      right: Math.max(width, seen[2]),
      bottom: Math.max(height, seen[3]),
    };
    for (const [i, token] of this.tokens.entries()) if (this.isPatch(i)) token.label = `patch ${token.piece}`;
  }

  /** @param {number} token */
  isPatch(token) {
    return token >= this.first && token < this.first + this.patches;
  }

  /** @param {number} token a patch @returns {Patch} */
  patchOf(token) {
    return { row: Math.floor((token - this.first) / this.columns), column: (token - this.first) % this.columns };
  }

  /** @param {Patch} patch */
  tokenOf({ row, column }) {
    return this.first + row * this.columns + column;
  }

  /** Left, top, right and bottom of a patch, in pixels of the picture. @param {number} token a patch */
  placeOf(token) {
    const { row, column } = this.patchOf(token);
    const { left, top, right, bottom } = this.seen;
    const width = (right - left) / this.columns;
    const height = (bottom - top) / this.rows;
    const corner = { left: left + column * width, top: top + row * height };
    return { ...corner, right: corner.left + width, bottom: corner.top + height };
  }

  /**
   * What an output token draws from each patch, or null when it was not computed.
   * @param {string} method @param {number} layerIndex @param {number} token
   */
  map(method, layerIndex, token) {
    return this.row(method, layerIndex, token)?.subarray(this.first, this.first + this.patches) ?? null;
  }

  /**
   * The colour scale of maps of one output token. A patch draws much on itself, by the residual: it does not set the
   * top when it lies far above the rest.
   * @param {(Values | null)[]} maps @param {number} token @param {boolean} fromLeast the scale begins at the least value
   * @returns {Scale}
   */
  scale(maps, token, fromLeast) {
    let itself = 0;
    let rest = 0;
    let least = Infinity;
    for (const map of maps) {
      for (let p = 0; map && p < map.length; ++p) {
        if (!(map[p] < Infinity)) continue;
        if (this.first + p === token) itself = Math.max(itself, map[p]);
        else rest = Math.max(rest, map[p]);
        least = Math.min(least, map[p]);
      }
    }
    const above = Math.max(itself, rest);
    const top = rest > 0 && itself > 2 * rest ? rest : above;
    return { low: fromLeast && least < top ? least : 0, top, above };
  }

  /** Sum of a row, and of its patches. @param {Values} row */
  sums(row) {
    let all = 0;
    let patches = 0;
    for (const [i, value] of row.entries()) {
      if (Number.isNaN(value)) continue;
      all += value;
      if (this.isPatch(i)) patches += value;
    }
    return { all, patches };
  }
}
