// @ts-check
// The legend of a picture: what its colours and outlines mean.

import { h } from "./dom.js";
import { sizeText } from "./text.js";

const SVG = "http://www.w3.org/2000/svg";

/**
 * The entries of a picture's legend.
 * @param {import("./picture.js").Picture} picture
 * @returns {(HTMLElement | false)[]}
 */
export function legendOf({ legend, look, plan }) {
  const entries = (legend ?? []).slice(0, 12).map(({ name, ink }) => {
    const square = document.createElementNS(SVG, "svg");
    const rect = document.createElementNS(SVG, "rect");
    for (const element of [square, rect]) {
      element.setAttribute("width", "11");
      element.setAttribute("height", "11");
    }
    rect.setAttribute("fill", `#${ink.toString(16).padStart(6, "0")}`);
    square.append(rect);
    return h("span", {}, square, look.by === "size" ? sizeText(Number(name)) : name);
  });
  return [...entries,
    look.peak.length > 0 && h("span", {}, "purple outline: decides the peak"),
    look.wrong.length > 0 && h("span", {}, "red outline: breaks a rule"),
    look.selected >= 0 && h("span", {}, "blue: selected; red: what it stands on"),
    plan.pins.size > 0 && h("span", {}, "\u25e3 pinned"),
    plan.root.some((root, i) => root !== i) && h("span", {}, "dashed: alias")];
}
