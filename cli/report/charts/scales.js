// Scales, which map numbers to positions, and their ticks.

// Returns about `count` round numbers from `least` to `most`.
function roundTicks(least, most, count) {
  const rough = most / Math.max(count, 1) - least / Math.max(count, 1);
  // Numbers between which there are few others have no round ones.
  if (!(rough > Math.max(Math.abs(least), Math.abs(most)) * 1e-13)) return [least];
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((each) => each * unit >= rough) * unit;
  const ticks = [];
  for (let i = Math.ceil(least / step); i * step <= most * (1 + 1e-12); ++i) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}
// Returns powers of ten, or round numbers if there are too few powers.
function powerTicks(least, most, count) {
  const first = Math.ceil(Math.log10(least) - 1e-9);
  const last = Math.floor(Math.log10(most) + 1e-9);
  if (last - first < 1) return roundTicks(least, most, count).filter((tick) => tick > 0);
  const by = Math.ceil((last - first + 1) / count);
  const ticks = [];
  for (let power = first; power <= last; power += by) ticks.push(Number(`1e${power}`));
  return ticks;
}

// Returns round whole numbers from `least` to `most`.
function wholeTicks(least, most, count) {
  if (most - least > count) return roundTicks(least, most, count).filter(Number.isInteger);
  const ticks = [];
  for (let tick = Math.ceil(least); tick <= most; ++tick) ticks.push(tick);
  return ticks;
}

// Returns the least and the greatest finite number, on a logarithmic scale of those above 0; and whether there is a 0.
function extentOf(numbers, isLog = false) {
  let least = Infinity;
  let most = -Infinity;
  let hasZero = false;
  for (const number of numbers) {
    if (number === 0) hasZero = true;
    if (number === null || !Number.isFinite(number) || (isLog && number <= 0)) continue;
    if (number < least) least = number;
    if (number > most) most = number;
  }
  return { least, most, hasZero };
}

// Returns a scale that maps `numbers` to begin..end.  Non-finite numbers have no place on it.  On a
// logarithmic scale negative numbers have none either, and 0 is at its beginning, at a distance from
// the least other number.  `isWhole`: all ticks are whole numbers.  Without numbers it has no ticks.
function makeScale(numbers, begin, end, { isLog = false, isWhole = false } = {}) {
  const extent = extentOf(numbers, isLog);
  let { least, most } = extent;
  const hasZero = isLog && extent.hasZero;
  const isEmpty = least > most;
  const isSingle = least === most;
  const only = least;
  if (isEmpty) [least, most] = isLog ? [0.1, 1] : [0, 1];
  if (isSingle) {
    const margin = isWhole ? 1 : Math.min((Math.abs(least) || 1) / 10, Number.MAX_VALUE / 4);
    [least, most] = isLog ? [least / 2, most * 2] : [least - margin, most + margin];
  }
  const map = isLog ? Math.log10 : (number) => number;
  const first = hasZero ? begin + (end - begin) * 0.08 : begin;
  const part = Number.isFinite(most - least) ? 1 : 0.25;  // differences would overflow
  const factor = (end - first) / (part * map(most) - part * map(least));
  const scale = (number) => (isLog && number === 0 ? begin : first + (part * map(number) - part * map(least)) * factor);
  scale.has = (number) => number !== null && Number.isFinite(number) && (!isLog || number >= 0);
  // Returns the number at a place of a linear scale.
  scale.at = (place) => least + (place - first) / factor / part;
  scale.least = least;
  scale.most = most;
  const chooseTicks = isLog ? powerTicks : (isWhole ? wholeTicks : roundTicks);
  scale.ticks = (count) => {
    if (isEmpty) return hasZero ? [0] : [];
    return [...(hasZero ? [0] : []), ...(isSingle && isWhole ? [only] : chooseTicks(least, most, count))];
  };
  return scale;
}

// Returns true if the numbers span so many orders of magnitude that a logarithmic scale is needed.
function wantsLog(numbers) {
  for (const number of numbers) {
    if (number !== null && number < 0 && Number.isFinite(number)) return false;
  }
  const { least, most } = extentOf(numbers, true);
  return least < most && most / least > 200;
}
function areWhole(numbers) {
  for (const number of numbers) {
    if (number !== null && Number.isFinite(number) && !Number.isSafeInteger(number)) return false;
  }
  return true;
}

// Returns a colour from blue to yellow for `share` from 0 to 1.  The lightness grows evenly, so that
// colour-blind readers and monochrome printers can distinguish large from small.
const RAMP = [[5, 24, 66], [38, 62, 110], [84, 95, 118], [124, 124, 122], [166, 156, 112], [212, 192, 88], [255, 233, 70]];
function rampColour(share) {
  const place = Math.min(Math.max(share, 0), 1) * (RAMP.length - 1);
  const i = Math.min(Math.floor(place), RAMP.length - 2);
  const part = RAMP[i].map((from, k) => Math.round(from + (RAMP[i + 1][k] - from) * (place - i)));
  return `rgb(${part.join(',')})`;
}
