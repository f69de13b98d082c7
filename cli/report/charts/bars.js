// Named numbers as bars, the largest of which fills three quarters of the width.

// Data: {labels, values}.
function drawBars(element, data) {
  const bars = make('div', { class: 'bars' });
  element.append(bars);
  function update({ labels, values }) {
    const most = Math.max(...values.map(Math.abs), Number.MIN_VALUE);
    bars.replaceChildren(...labels.flatMap((label, i) => [
      make('span', {}, label),
      make('div', { class: 'bar' }, make('i', { style: `width:${((Math.abs(values[i]) / most) * 75).toFixed(2)}%`, 'aria-hidden': 'true' }), formatNumber(values[i])),
    ]));
  }
  update(data);
  return { figure: bars, update, destroy: () => bars.remove() };
}
