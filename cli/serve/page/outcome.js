// What is read as a whole, and again while a run grows: features and trees, and the quality of predictions.

import { get } from './api.js';

const BETWEEN_READS = 5000;  // ms
export const OUTCOMES = {
  booster: { title: 'Features and trees', draw: (place, data) => drawBoosterCharts(place, data, { group: 'steps' }) },
  predictions: { title: 'Predictions', draw: drawPredictionCharts },
};

// Draws one of OUTCOMES in a section, which is hidden while there is nothing to draw.  Returns {grow(), destroy()}.
export function drawOutcome({ element, place }, run, name) {
  const failed = make('p', { class: 'note bad', role: 'status' });
  let drawn = null;
  let timer = null;
  let readAt = -BETWEEN_READS;
  let isOnScreen = true;
  let hasGrown = false;  // since it was read
  let isGone = false;
  element.append(failed);

  async function read() {
    readAt = performance.now();
    hasGrown = false;
    try {
      const data = await get(`/api/${name}`, { id: run.id });
      if (isGone) return;
      failed.textContent = '';
      element.hidden = data === null;
      if (data === null) return;
      if (drawn) drawn.update(data);
      else drawn = OUTCOMES[name].draw(place, data);
    } catch (error) {
      element.hidden = false;
      failed.textContent = error.message;
    }
  }
  function grow() {
    hasGrown = true;
    if (timer || !run[name] || !(isOnScreen || element.hidden)) return;
    timer = setTimeout(() => {
      timer = null;
      read();
    }, Math.max(0, readAt + BETWEEN_READS - performance.now()));
  }
  const observer = new IntersectionObserver((entries) => {
    isOnScreen = entries[entries.length - 1].isIntersecting;
    if (isOnScreen && hasGrown) grow();
  });
  observer.observe(element);
  if (run[name]) read();
  return {
    grow,
    destroy() {
      isGone = true;
      clearTimeout(timer);
      observer.disconnect();
      if (drawn) drawn.destroy();
    },
  };
}
