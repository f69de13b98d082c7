// Histograms of some tensors over the steps.

function drawHistograms(place) {
  const all = report.histograms;
  const heading = make('h3');
  const shown = make('div');
  const note = make('p', { class: 'note' });
  let chart = null;
  const show = (i) => {
    heading.textContent = all[i].tensor;
    if (chart) chart.destroy();
    shown.replaceChildren();
    chart = drawRidges(shown, all[i], { label: `Histograms of ${all[i].tensor} at ${countText(all[i].rows.length, 'step')}`, xTitle: 'value of an element' });
    note.textContent = `Each step has ${countText(all[i].elements, 'element')}; the outer bins include elements beyond the ends. Early steps are behind, late steps in front.`;
  };
  place.append(make('div', { class: 'card' },
    make('div', { class: 'controls' }, chooser('Tensor', all.map((each) => (each.rows.some((row) => row.is_found) ? `✕ ${each.tensor}` : each.tensor)), show)), heading, shown, note));
  show(0);
}
