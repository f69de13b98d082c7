// A square with axes, for charts that are not over the steps.

const SQUARE = { left: 46, right: 346, top: 16, bottom: 286 };

// Returns the scales of a square for these numbers.
function squareScales(across, up) {
  return [makeScale(across, SQUARE.left, SQUARE.right), makeScale(up, SQUARE.bottom, SQUARE.top + 4)];
}

// Returns a square with the axes `x` and `y`, whose titles are `titles`.
function squareChart(label, x, y, titles) {
  const svg = makeSvg('svg', { class: 'square', viewBox: '0 0 360 330', role: 'img', 'aria-label': label });
  drawAxes(svg, x, y, SQUARE, { x: 4, y: 5 }, titles);
  return svg;
}
