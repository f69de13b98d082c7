// Draws the importance of a booster's features, and the depth of its trees.

function drawBars(importance) {
  const most = Math.max(...importance.values.map(Math.abs), Number.MIN_VALUE);
  const bars = make('div', { class: 'bars' });
  importance.features.forEach((feature, i) => {
    const value = importance.values[i];
    bars.append(make('span', {}, feature), make('div', { class: 'bar' },
      make('i', { style: `width:${((Math.abs(value) / most) * 75).toFixed(2)}%`, 'aria-hidden': 'true' }), formatNumber(value)));
  });
  return bars;
}

function drawImportances() {
  const all = report.booster.importances;
  if (!all.length) return null;
  const shown = make('div');
  const note = make('p', { class: 'note' });
  const show = (i) => {
    shown.replaceChildren(drawBars(all[i]));
    const some = all[i].features.length < all[i].all ? `the ${all[i].features.length} most important of ` : '';
    note.textContent = `Step ${all[i].step}: ${some}${all[i].all} features that trees use.`;
  };
  const first = Math.max(all.findIndex((each) => each.kind === 'gain'), 0);
  show(first);
  return make('div', { class: 'card' }, make('h3', {}, 'Importance of features'), note,
    make('div', { class: 'controls' }, chooser('Measure', all.map((each) => each.kind.replace('_', ' ')), show, first)), shown);
}

function drawTrees() {
  const { steps, depths, nodes } = report.booster.trees;
  if (!steps.length) return null;
  const chart = (title, values) => lineChart({ title, lines: [{ label: title, colour: 0, dash: null, steps, values }], height: 160, canSwitch: false });
  return make('div', { class: 'card' }, chart('Depth of the deepest tree', depths), chart('Nodes of the round’s trees', nodes));
}

function drawBooster(place) {
  place.append(make('div', { class: 'grid' }, ...[drawImportances(), drawTrees()].filter(Boolean)));
}
