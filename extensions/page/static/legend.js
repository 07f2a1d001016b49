// @ts-check
// The legend of a picture: what its colours and outlines mean.

import { h } from "./dom.js";
import { svg } from "./svg.js";
import { nameText, sizeText } from "./text.js";

/**
 * Return the meanings of a picture's colours and outlines, each with its colour if it has one.
 * @param {import("./picture.js").Picture} picture @returns {{text: string, ink?: string}[]}
 */
export function legendTexts({ legend, look, plan, demand, lanes, shared }) {
  const says = (/** @type {boolean} */ isSo, /** @type {string} */ text) => (isSo ? [{ text }] : []);
  return [...(legend ?? []).slice(0, 17).map(({ name, ink }) =>
    ({ text: look.by === "size" ? `up to ${sizeText(Number(name))}` : String(name), ink: `#${ink.toString(16).padStart(6, "0")}` })),
    ...says(demand !== null && lanes.all.length === 1, "blue-grey: bytes that are needed"),
    ...says(demand !== null && lanes.all.length === 1 && demand.most > (lanes.pools[0].size ?? Infinity), "red: above the capacity"),
    ...says(Boolean(demand?.core.length), "dashed: cannot all be placed"),
    ...says(look.time !== null && plan.pool.some((q) => q >= 0), "strip at the left: what lies where at this time"),
    ...says(plan.count > 1, "Shift and drag: sums of a span of time"),
    ...says(Boolean(plan.prefix), `names begin with ${nameText(plan.prefix ?? "", 40)}`),
    ...says(Boolean(plan.suffix), `names end with ${nameText(plan.suffix ?? "", 40)}`),
    ...says(look.peak.length > 0, "purple outline: decides the peak"),
    ...says(look.wrong.length > 0, "red outline: breaks a rule"),
    ...says(look.selected >= 0, "blue: selected; red: what it stands on"),
    ...says(plan.pins.size > 0, "\u25e3 pinned"),
    ...says(plan.pools.some(({ reserved }) => reserved?.length), "hatched: reserved"),
    ...says(plan.pools.some(({ bank_size: size }) => size), "dotted lines: banks"),
    ...says(plan.isShared && shared.length > 0, "red dots: shares bytes"),
    ...says(plan.copies.length > 0, "arrow: a copy"),
    ...says(plan.reused.length > 0, "dotted line: shares bytes at a price"),
    ...says(look.marks.length > 0, "purple lines: marks"),
    ...says(plan.root.some((root, i) => root !== i), "dashed: a view inside of another buffer")];
}

/** Return the elements of a picture's legend. @param {import("./picture.js").Picture} picture */
export function legendOf(picture) {
  return legendTexts(picture).map(({ text, ink }) => h("span", {},
    ink && svg("svg", { width: 11, height: 11 }, svg("rect", { width: 11, height: 11, fill: ink })), text));
}
