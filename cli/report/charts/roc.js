// True positives against false positives, for each class.

// Data: {curves: [{class, area, x, y}]}.
function drawRoc(element, data) {
  const figure = make('div');
  element.append(figure);
  const dashOf = (i) => [null, '6 3', '1.5 3'][Math.floor(i / COLOURS) % 3];
  function update({ curves }) {
    const [x, y] = squareScales([0, 1], [0, 1]);
    const svg = squareChart('ROC curves', x, y, { x: 'false positives', y: 'true positives' });
    svg.append(makeSvg('line', { class: 'gridline', x1: x(0), y1: y(0), x2: x(1), y2: y(1) }));
    curves.forEach((curve, i) => svg.append(makeSvg('path', {
      class: `curve s${i % COLOURS}`, 'stroke-dasharray': dashOf(i),
      d: linePaths({ x: curve.x }, curve.y, curve.x.map((_, k) => k), x, y).path,
    })));
    const legend = curves.map((curve, i) => make('span', {}, lineSample({ colour: i, dash: dashOf(i) }), ` class ${curve.class}: area ${formatNumber(curve.area)} `));
    figure.replaceChildren(svg, make('div', { class: 'legend' }, ...legend));
  }
  update(data);
  return { figure, update, destroy: () => figure.remove() };
}
