// Finds the name that was probably meant.

/** Returns the name with the fewest changes of letters, if they are few for its length. */
export function nearest(name, names) {
  const lower = name.toLowerCase();
  const distances = names.map((each) => [each, distance(lower, each.toLowerCase())]);
  const [best] = distances.filter(([, changes]) => changes <= Math.max(1, Math.floor(name.length / 3))).sort((a, b) => a[1] - b[1]);
  return best?.[0];
}

/** Letters that are added, left out or replaced, and neighbours that are swapped. */
function distance(from, to) {
  const rows = [[...Array(to.length + 1).keys()]];
  for (let row = 1; row <= from.length; row += 1) {
    const [before, current] = [rows[row - 1], [row]];
    for (let column = 1; column <= to.length; column += 1) {
      const changed = before[column - 1] + (from[row - 1] === to[column - 1] ? 0 : 1);
      const isSwapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const swapped = isSwapped ? rows[row - 2][column - 2] + 1 : Infinity;
      current.push(Math.min(changed, before[column] + 1, current[column - 1] + 1, swapped));
    }
    rows.push(current);
  }
  return rows[from.length][to.length];
}
