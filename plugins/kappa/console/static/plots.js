// Small plots over time by uPlot, in the colours of the page, told in words for who does not see them.

import uPlot from "./uPlot.esm.js";
import {clock, el} from "./page.js";

const HEIGHT = 150, LEAST_STEPS = 5;
const TICKS = [1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function axis(format) {
  const grid = {stroke: colour("grid"), width: 1};
  return {stroke: colour("quiet"), grid, ticks: grid, font: "11px system-ui", ...format};
}

// {at: [epoch s], lines: [{name, colour, values, fill, dash, bars, format}]}
function words(title, {at, lines}, show) {
  if (!at.length) return `${title}: nothing yet`;
  const last = lines.map((line) => {
    const values = line.values.filter((value) => value !== null);
    return values.length ? `${line.name} last ${show(values.at(-1))}, most ${show(Math.max(...values))}` : `${line.name} none`;
  });
  return `${title}, from ${clock(at[0])} to ${clock(at.at(-1))}: ${last.join("; ")}`;
}

export class Plot {
  constructor(title, show = (value) => String(value), picked = null) {
    this.name = this.title = title;
    this.show = show;
    this.picked = picked;
    this.picture = el("div", {role: "img", "aria-label": title});
    this.caption = el("figcaption", {}, title);
    this.none = el("p", {class: "quiet", "aria-hidden": "true"}, "nothing yet");
    this.host = el("figure", {class: "plot"}, this.caption, this.none, this.picture);
    this.data = null;
    dark.addEventListener("change", () => this.again());
    new ResizeObserver(() => this.made && this.made.setSize(this.size())).observe(this.host);
  }

  size() {
    return {width: Math.max(200, this.host.clientWidth), height: HEIGHT};
  }

  // Have the title say of how many minutes a point is; told with the next drawing.
  per(minutes) {
    this.title = `${this.name}, ${minutes === 1 ? "by minute" : `each ${minutes} min`}`;
    if (this.caption.textContent !== this.title) this.caption.textContent = this.title;
  }

  draw(data) {
    const shape = JSON.stringify(data.lines.map((line) => line.name));
    this.data = data;
    this.picture.setAttribute("aria-label", words(this.title, data, this.show));
    this.none.hidden = data.at.length > 0;
    if (this.made && shape === this.shape) this.made.setData(this.columns());
    else this.again();
    this.shape = shape;
  }

  columns() {
    return [this.data.at, ...this.data.lines.map((line) => line.values)];
  }

  // Seconds from one point to the next; a minute where there is one point.
  step() {
    const [first, second] = this.data.at;
    return second === undefined ? 60 : second - first;
  }

  again() {
    if (!this.data) return;
    if (this.made) this.made.destroy();
    const series = this.data.lines.map((line) => ({
      label: line.name, stroke: colour(line.colour), width: 1.5, dash: line.dash, spanGaps: false,
      fill: line.fill ? `${colour(line.colour)}55` : undefined, points: {show: this.data.at.length < 2},
    }));
    const options = {
      ...this.size(), series: [{}, ...series], legend: {show: false}, cursor: {y: false},
      scales: {x: {time: true, range: (_, first, last) => first === null ? [null, null] : [Math.min(first, last - LEAST_STEPS * this.step()), last]}, y: {range: (_, least, most) => [Math.min(0, least ?? 0), (most || 1) * 1.1]}},
      axes: [axis({space: 60, incrs: () => TICKS.filter((tick) => tick >= Math.min(this.step(), 60)), values: (_, ticks) => ticks.map((tick, i) => hour(tick, ticks[i + 1] ?? ticks[i - 1]))}), axis({size: 62, values: (_, ticks) => ticks.map((tick) => this.show(tick))})],
      hooks: {ready: [(made) => this.listen(made)]},
    };
    this.made = new uPlot(options, this.columns(), this.picture);
  }

  listen(made) {
    if (this.picked) made.over.addEventListener("click", () => {
      if (made.cursor.idx !== null && made.cursor.idx !== undefined) this.picked(this.data.at[made.cursor.idx]);
    });
  }
}

// A tick in UTC: with seconds only where ticks are less than a minute apart.
function hour(tick, next) {
  return clock(tick).slice(0, Math.abs((next ?? tick + 60) - tick) < 60 ? 8 : 5);
}

// A number for an axis: "20,000", "1.2M".
export function count(value) {
  const notation = Math.abs(value) < 100000 ? "standard" : "compact";
  return value.toLocaleString("en", {notation, maximumFractionDigits: 2});
}

// Where nobody looked for so many seconds nothing is known, so no line is drawn.
export function gaps(at, values, seconds) {
  const known = {at: [], values: []};
  at.forEach((each, i) => {
    if (i && each - at[i - 1] > seconds) {
      known.at.push(at[i - 1] + 1);
      known.values.push(null);
    }
    known.at.push(each);
    known.values.push(values[i]);
  });
  return known;
}

// Each minute, or step, from the first to the last: where nothing came, the line shows it.
export function steps(first, last, step) {
  const at = [];
  for (let each = first; each <= last; each += step) at.push(each);
  return at;
}

export function legend(lines) {
  return el("ul", {class: "legend"}, lines.map(([name, colour]) =>
    el("li", {}, el("span", {class: `swatch ${colour}`, "aria-hidden": "true"}), name)));
}

// Parts of a whole as one bar: [[number, colour]], told in words.
export function shares(words, parts) {
  const made = (kind, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", kind);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
    return element;
  };
  const all = parts.reduce((sum, [part]) => sum + part, 0) || 1, bar = made("svg", {class: "shares", width: "100%", height: 8, role: "img", "aria-label": words});
  let before = 0;
  for (const [part, colour] of parts) {
    bar.append(made("rect", {x: `${100 * before / all}%`, width: `${100 * part / all}%`, height: 8, class: colour}));
    before += part;
  }
  return bar;
}
