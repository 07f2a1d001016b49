// @ts-check
// Keys, and the list of them.

import { dialog, h } from "./dom.js";

/** @typedef {{keys: string[], says: string, run: (event: KeyboardEvent) => void}} Binding */

/** Run key bindings, except while the user types into a field. @param {Binding[]} bindings @param {AbortSignal} signal */
export function bindKeys(bindings, signal) {
  document.addEventListener("keydown", (event) => {
    const target = event.target;
    const isField = target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement;
    if (document.querySelector("dialog[open]") || (isField && event.key !== "Escape")) return;
    const isSearch = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "f";
    if ((event.ctrlKey || event.metaKey || event.altKey) && !isSearch) return;
    const pressed = isSearch ? "/" : event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if ((pressed.startsWith("Arrow") || pressed === "Enter") && !(target instanceof HTMLCanvasElement)) return;
    const binding = bindings.find(({ keys }) => keys.includes(pressed));
    if (!binding) return;
    event.preventDefault();
    binding.run(event);
  }, { signal });
}

/** Show a dialog that lists the key bindings. @param {Binding[]} bindings */
export function showHelp(bindings) {
  const named = (/** @type {string} */ key) => ({ ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Escape: "Esc" })[key] ?? key.toUpperCase();
  dialog({ "aria-label": "keys" }, h("h2", {}, "Keys"),
    h("table", {}, h("tbody", {}, ...bindings.map(({ keys, says }) =>
      h("tr", {}, h("td", {}, ...keys.flatMap((key) => [h("kbd", {}, named(key)), " "])), h("td", {}, says))),
    h("tr", {}, h("td", {}, "wheel"), h("td", {}, "magnify at the pointer; with Shift time alone, with Alt offsets alone")),
    h("tr", {}, h("td", {}, "drag"), h("td", {}, "move; with Shift an area, whose bytes are summed")))),
    h("form", { method: "dialog" }, h("button", {}, "close")));
}
