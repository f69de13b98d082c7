// Predicted numbers against labels.

// Data: {labels, predictions}.
function drawResiduals(element, data) {
  const figure = make('div');
  element.append(figure);
  function update({ labels, predictions }) {
    const both = [...labels, ...predictions];
    const [x, y] = squareScales(both, both);
    const svg = squareChart('Predictions against labels', x, y, { x: 'label', y: 'prediction' });
    svg.append(makeSvg('line', { class: 'limit', x1: x(x.least), y1: y(x.least), x2: x(x.most), y2: y(x.most) }),
      ...labels.map((label, i) => makeSvg('circle', { class: 'dot', r: 2.6, cx: x(label), cy: y(predictions[i]) })));
    figure.replaceChildren(svg);
  }
  update(data);
  return { figure, update, destroy: () => figure.remove() };
}
