// @ts-check
// The key of a service that asks for one: it stays in this tab.

import { dialog, h } from "../dom.js";

/** @type {Promise<string | null> | null} */
let asking = null;

/** Ask the user for a key, once for all calls that wait for it; return null if the user gives none. @param {boolean} wasRefused  the one before */
export function askKey(wasRefused) {
  asking ??= asked(wasRefused).finally(() => {
    asking = null;
  });
  return asking;
}

/** @param {boolean} wasRefused @returns {Promise<string | null>} */
function asked(wasRefused) {
  const input = /** @type {HTMLInputElement} */ (h("input", { type: "password", id: "key", autocomplete: "off", required: true,
    "aria-invalid": wasRefused, "aria-describedby": wasRefused ? "refused" : "kept" }));
  const form = h("form", { method: "dialog" },
    h("h2", {}, "This service asks for a key"),
    wasRefused && h("p", { class: "alarm", role: "alert", id: "refused" }, "The key was refused."),
    h("p", { class: "quiet", id: "kept" }, "It is kept in this tab only, and forgotten when the tab is closed."),
    h("p", {}, h("label", { for: "key" }, "Key "), input),
    h("button", { class: "primary", value: "use" }, "Use it"), " ",
    h("button", { value: "", formnovalidate: true }, "Cancel"));
  const asks = dialog({ "aria-label": "Key" }, form);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    asks.close(/** @type {HTMLButtonElement} */ (/** @type {SubmitEvent} */ (event).submitter)?.value ?? "use");
  });
  return new Promise((done) => asks.addEventListener("close", () => done(asks.returnValue === "use" && input.value.trim() ? input.value.trim() : null)));
}
