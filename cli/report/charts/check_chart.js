// What a check of a rule measured, wherever it found something, next to its limit.

// Returns the limit of all values, or null if it changes from one to the next.
function limitOf(limits) {
  return limits.every((each) => each === limits[0]) ? limits[0] : null;
}

// Data: {check, measure, steps, values, limits}.  Options: height, group.
function drawCheck(element, data, { height, group }) {
  const lineOf = (label, colour, dash, { steps }, y) => ({ label, colour, dash, x: steps, y });
  const linesOf = (next) => {
    const limit = limitOf(next.limits);
    return { lines: [lineOf('value', 1, null, next, next.values), ...(limit === null ? [lineOf('limit', 3, '6 3', next, next.limits)] : [])], limit };
  };
  const title = `${data.check ? `${data.check}: ` : ''}${data.measure || 'value'} at each finding`;
  const chart = drawLineChart(element, linesOf(data), { title, height, group, canSwitch: false, sharesZoom: false });
  return { ...chart, update: (next) => chart.update(linesOf(next)) };
}
