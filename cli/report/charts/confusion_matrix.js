// How often each class was predicted for each label.

function confusionCell(count, all, label, predicted) {
  const share = all ? count / all : 0;
  const colour = count ? rampColour(share) : 'transparent';
  const ink = count ? (share > 0.55 ? '#000' : '#fff') : 'var(--faint)';
  return make('td', { style: `background:${colour};color:${ink}`, title: `label ${label}, predicted ${predicted}: ${count} of ${all}` }, String(count));
}

// Data: {classes, counts}: `counts` has a row for each label, and a column for each prediction.
function drawConfusionMatrix(element, data) {
  const table = make('table', { class: 'confusion' });
  const figure = make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Confusion matrix' }, table);
  element.append(figure);
  function update({ classes, counts }) {
    const head = make('tr', {}, make('td'), ...classes.map((each) => make('th', { scope: 'col' }, String(each))));
    const rows = counts.map((row, i) => {
      const all = row.reduce((sum, count) => sum + count, 0);
      return make('tr', {}, make('th', { scope: 'row' }, String(classes[i])), ...row.map((count, j) => confusionCell(count, all, classes[i], classes[j])));
    });
    table.replaceChildren(make('thead', {}, head), make('tbody', {}, ...rows));
  }
  update(data);
  return { figure, update, destroy: () => figure.remove() };
}
